"""Data for viewers: feeds and sources of view-models, independent of any screen."""
