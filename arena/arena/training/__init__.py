"""Training: what `arena train` gives a trainer, and what it keeps of a run."""
