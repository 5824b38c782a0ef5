"""The dashboard: shows what the store holds; it referees nothing, computes nothing and loads no bot."""
