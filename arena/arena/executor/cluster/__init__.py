"""Worker machines: the coordinator decides, a Dask scheduler carries messages. Needs the extra `cluster`."""
