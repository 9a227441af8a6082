"""The log: entries in a hash chain, who did what, and who may see it.

Others call `registry` to declare their actions, `operations` to write an entry within their transaction,
`selectors` and `models` to read, and `access` for views that check who asks.

It must not know the rooms whose actions it writes down.
"""

__all__ = ["access", "models", "operations", "registry", "selectors"]
