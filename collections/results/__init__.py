"""From reports to the one result of a recipe: released or withheld, once; and progress until then.

Others call `tasks` (what drives collections), `operations` (release, withholding), `trust_models` (how each
comes to its result), `selectors`, `counts` (of attributes), `exports`, `excerpt`, `parts`, `progress`,
`servers`, `shares`, `rates` (tokens), `reasons` (held results), `tables` (all public results), `changes`,
`comparisons` and `comparison_exports`, describe answers with `api_shapes`, and read `models` and `outcomes`.
`aggregation` adds stored reports up.

It must not know pages.
"""

__all__ = [
    "aggregation",
    "api_shapes",
    "changes",
    "comparison_exports",
    "comparisons",
    "counts",
    "excerpt",
    "exports",
    "models",
    "operations",
    "outcomes",
    "parts",
    "progress",
    "rates",
    "reasons",
    "selectors",
    "servers",
    "shares",
    "tables",
    "tasks",
    "trust_models",
]
