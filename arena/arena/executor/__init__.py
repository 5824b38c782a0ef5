"""Where matches run: this process or local worker processes, behind one `concurrent.futures.Executor`."""
