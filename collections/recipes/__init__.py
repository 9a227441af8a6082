"""Recipes: drafts, what they cost, the published documents and their keys.

Others call `operations` (drafts, keys, the row lock), `cost` (what is asked, as data), `budget` (what that
does to its population's), `refusals` (what keeps one from being published), `planner` (what a collection
will give), `steps` (when an unfinished one goes on), `selectors`, `access`, `errors`, `actions`,
`log_entries` (what the log records of a published one) and `item_lists`, and read `models`. `recipe_file` and
`items_file` read the files of commands. `api` and `drafts_api` are the REST API, `converters` reads the
recipe that an address names, and `scopes` lists what its tokens may be used for.

It must not know reports, results or pages, nor what differs between trust models.
"""

__all__ = [
    "access",
    "actions",
    "api",
    "budget",
    "converters",
    "cost",
    "drafts_api",
    "errors",
    "item_lists",
    "items_file",
    "log_entries",
    "models",
    "operations",
    "planner",
    "recipe_file",
    "refusals",
    "scopes",
    "selectors",
    "steps",
]
