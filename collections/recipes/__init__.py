"""Recipes: drafts, what they cost, the published documents and their keys.

Others call `operations` (drafts, keys, the row lock), `budget` (what a recipe does to its population's),
`selectors`, `access`, `errors`, `actions` and `item_lists`, and read `models`. `api` is the public REST API.

It must not know reports, results or pages, nor what differs between trust models.
"""

__all__ = [
    "access",
    "actions",
    "api",
    "budget",
    "converters",
    "errors",
    "item_lists",
    "models",
    "operations",
    "selectors",
]
