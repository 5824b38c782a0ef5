"""The widgets of the screens; every widget draws its own lines from a view-model."""
