"""The API: JSON answers that equal those of commands, event streams, badges, and their description."""
