"""The leader: from accepted reports to their count, together with the helper."""
