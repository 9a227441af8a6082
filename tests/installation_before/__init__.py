"""An installation that an earlier version left half done, and the processes that finish it (README.md)."""
