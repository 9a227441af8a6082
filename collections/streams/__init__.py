"""The curator's streams: each item is folded into a sealed state and forgotten at once.

Others call `operations` (start, fold, announce an intrusion, draw, forget), `selectors`, `access`, `errors`
and `actions`, and read `models`. `api` is the REST API of intrusions, and `scopes` lists what its tokens may
be used for.

It must not know stored recipes but by their identifier, nor the caller that requests the estimate.
"""

__all__ = ["access", "actions", "errors", "models", "operations", "scopes", "selectors"]
