"""Worker machines: a Dask scheduler carries messages, the coordinator decides; needs the extra `cluster`."""
