"""The API: JSON equal to that of the commands, event streams, badges, and its OpenAPI description."""
