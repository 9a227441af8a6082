"""The one result of a recipe: released or withheld, once; and progress until then.

Others call `operations` (the periodic task, withholding), `selectors`, `counts` (of attributes), `exports`,
`excerpt`, `parts`, `progress`, `servers`, `shares`, `rates` and `reasons` (held results), `changes`,
`comparing` and `comparison_exports`, describe answers with `api_shapes`, and read `models`.

It must not know where a sum comes from: it asks `publishing` for the outcome and reaches no further.
"""

__all__ = [
    "api_shapes",
    "changes",
    "comparing",
    "comparison_exports",
    "counts",
    "excerpt",
    "exports",
    "models",
    "operations",
    "parts",
    "progress",
    "rates",
    "reasons",
    "selectors",
    "servers",
    "shares",
]
