"""The rules of the bundled games."""
