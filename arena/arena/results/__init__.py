"""Views of the store: standings, leaderboard, crosstable, encounters; they compute nothing that is kept."""
