"""The page "Log": what happened in public, how far witnesses vouch for it, and how to check it."""
