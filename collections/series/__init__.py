"""Recipes that are repeated: their rounds, one budget for all of them, and the trend.

Others call `operations` (publish, stop, mark, the periodic task), `rounds` (recipes in rounds),
`selectors` and `errors`, and read `models`. `api` is the public read API. Each round is a recipe of its own.

It must not know how a recipe is published or released: `publishing` and `results` do that.
"""

__all__ = [
    "api",
    "errors",
    "models",
    "operations",
    "rounds",
    "selectors",
]
