"""Views of the store: standings, leaderboard, crosstable, encounters. They store nothing."""
