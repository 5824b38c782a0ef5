"""What screens are made of; every widget draws its own lines from a view-model."""
