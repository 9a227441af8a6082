"""What to expect of a collection that nobody has published yet, and what to choose to meet targets.

A `proposal` is a statistic with its parameters. `plan` computes what it gives and costs, `curves` how that
changes with one parameter, `targets` whether it is enough, and `solver` the parameter that makes it so. This
room knows nothing of published recipes, reports or pages, and has no clock: with a `checkpoint` a caller stops
it in time.

Modules are imported one by one, as they load SciPy.
"""

__all__ = ["checkpoint", "curves", "expectation", "plan", "proposal", "solver", "targets"]
