"""The one result of a recipe: released or withheld, once and for good, and how far it is until then.

Others call `operations` (the periodic task, withholding), `selectors`, `exports`, `excerpt`, `progress`,
`servers`, `shares`, `changes`, `comparing` and `comparison_exports`, describe answers with `api_shapes`, and
read `models`.

It must not know where a sum comes from: it asks `trust_models` for the outcome and reaches no further.
"""

__all__ = [
    "api_shapes",
    "changes",
    "comparing",
    "comparison_exports",
    "excerpt",
    "exports",
    "models",
    "operations",
    "progress",
    "selectors",
    "servers",
    "shares",
]
