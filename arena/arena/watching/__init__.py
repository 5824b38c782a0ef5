"""What viewers are shown: feeds and sources of view-models, without a screen."""
