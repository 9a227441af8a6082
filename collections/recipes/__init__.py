"""Recipes: drafts, what they cost, the published documents and their keys.

Others call `operations` (drafts, keys, the row lock), `approvals` (four eyes), `cost` (what is asked, as
data), `budget` (what that does to its population's), `refusals` (what keeps one from being published),
`selectors`, `access`, `errors`, `actions` and `item_lists`, and read `models`. `api`, `approvals_api` and
`drafts_api` are the REST API, `converters` parses identifiers in its addresses, and `scopes` lists what its
tokens may be used for.

It must not know reports, results or pages, nor what differs between trust models.
"""

__all__ = [
    "access",
    "actions",
    "api",
    "approvals",
    "approvals_api",
    "budget",
    "converters",
    "cost",
    "drafts_api",
    "errors",
    "item_lists",
    "models",
    "operations",
    "refusals",
    "scopes",
    "selectors",
]
