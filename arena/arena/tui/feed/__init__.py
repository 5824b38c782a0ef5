"""Where the dashboard's data comes from: the store, polled by one thread."""
