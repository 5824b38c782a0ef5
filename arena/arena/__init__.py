"""The core: referee, matches, tournaments, ratings, command line."""
