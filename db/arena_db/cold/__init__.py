"""Matches in Parquet files: how they are written, found, checked and read as if they were stored."""
