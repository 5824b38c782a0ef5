"""What is to be played next, as pure functions of what has been played."""
