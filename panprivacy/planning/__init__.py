"""What to expect of a collection that nobody has published yet, and what to choose to meet targets."""
