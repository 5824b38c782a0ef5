"""The parts of the launcher that confine a process; they can import only the standard library."""
