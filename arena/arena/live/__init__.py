"""View-models for viewers: a reducer turns live events into immutable views, independent of any screen."""
