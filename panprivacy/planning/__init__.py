"""What to expect of a collection that nobody has published yet, and what to choose to meet targets.

A `proposal` is a statistic with its parameters. `plan` computes what it gives and costs, `curves` how that
changes with one parameter, and `targets` whether it is enough. `solver` finds the parameter that makes it
enough. This room knows nothing of published recipes, reports or pages. It has no clock: callers stop it in
time by a `checkpoint`.

Modules are imported one by one, as they load SciPy.
"""

__all__ = ["checkpoint", "curves", "expectation", "plan", "proposal", "solver", "targets"]
