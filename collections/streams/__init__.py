"""The curator's streams: items are folded into a sealed state, and each is forgotten at once.

Others call `operations` (start, fold, announce an intrusion, draw, forget), `selectors`, `access`, `errors`
and `actions`, and read `models`. `api` is the REST API of intrusions, and
`scopes` says what its tokens may be for.

It must not know stored recipes but by their identifier, nor who asks for the estimate.
"""

__all__ = ["access", "actions", "errors", "models", "operations", "scopes", "selectors"]
