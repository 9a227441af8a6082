"""The issuer of a recipe's tokens, as this site knows it: told of the end, until it says how many it issued.

Others call `operations` when a recipe is published and when it is closed, and `selectors` for the number of
issued tokens.

It must not know how a token is verified, nor what follows from the number.
"""

__all__ = ["operations", "selectors"]
