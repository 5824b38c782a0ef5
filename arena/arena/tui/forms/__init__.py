"""What the dashboard's forms stand for: tournaments, exports, and processes that are begun from a screen."""
