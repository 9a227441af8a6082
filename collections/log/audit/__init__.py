"""The log: entries that cannot be changed, and the rights to read them.

Others call `registry` to declare their actions, `operations` to write an entry within their transaction,
`selectors` and `models` to read, `access` for permissions, `actor` for the actor of a request, `actions` for
what pages record themselves, and `sessions` to end those of an account. `api` is the log for programs, and
`used_token` the token that a request came with.

It must not know the packages whose actions it writes down.
"""

__all__ = [
    "access",
    "actions",
    "actor",
    "models",
    "operations",
    "registry",
    "selectors",
    "sessions",
    "used_token",
]
