"""The models of the dashboard's forms: tournaments, exports, and commands started from a screen."""
