"""What this site knows of a recipe's issuer: whether it knows the end, and how many tokens it issued.

Others call `operations` when a recipe is published and when it is closed, and `selectors` for the number of
issued tokens.

It must not know how a token is verified, nor what follows from the number.
"""

__all__ = ["operations", "selectors"]
