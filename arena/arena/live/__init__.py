"""What viewers show: events of matches in, view-models out; free of any screen."""
