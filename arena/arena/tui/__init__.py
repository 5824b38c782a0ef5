"""The dashboard: shows the contents of the store; it referees nothing, computes nothing and loads no bot."""
