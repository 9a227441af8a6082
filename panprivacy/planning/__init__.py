"""What to expect of an unpublished collection, and what to choose to meet targets.

A `proposal` is a statistic with its parameters. `plan` computes what it gives and costs, and `curves` how
that changes with one parameter. `targets` is whether it is enough, and `likelihood` how likely a result is.
`value_search` searches for values with which any condition holds, `solver` for the parameter that makes a
proposal enough.
This package knows nothing of published recipes, reports or pages. It has no clock: `plan` answers
in parts, and a caller takes those for which it has time.

Modules are imported one by one, because they load SciPy.
"""

__all__ = [
    "curves",
    "expectation",
    "likelihood",
    "plan",
    "proposal",
    "solver",
    "targets",
    "value_search",
]
