"""Results to ratings with intervals: pure numbers, no store and no files."""
