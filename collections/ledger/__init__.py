"""What populations have spent of their privacy budgets, composed of stored events.

Others call `operations` (spend, return, set a budget), `selectors`, `books`, `budget`, `composition`,
`exports` and `access`, and read `models`. Workers compute its numbers (`answers`).

It must not know stored recipes but by their identifier.
"""

__all__ = [
    "access",
    "answers",
    "books",
    "budget",
    "composition",
    "exports",
    "models",
    "operations",
    "selectors",
]
