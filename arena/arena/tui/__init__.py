"""The dashboard: shows the contents of the store; it referees no match and loads no bot."""
