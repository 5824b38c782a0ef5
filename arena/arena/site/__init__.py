"""The static site: a store as a folder of pages."""
