"""The referee asks a bot for its move, times and checks the answer, and decides; it trusts no bot."""
