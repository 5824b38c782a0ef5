"""Training runs: the services that `arena train` provides to a trainer, and what it keeps of a run."""
