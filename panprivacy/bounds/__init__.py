"""Where a truth may lie, seen from a noisy whole number, however few are counted.

`exact` turns any family of distributions into intervals by exact tests. The families are `randomized_bits`
and `noisy_total`, of what devices report, and `touched_cells`, of tables of streams. `chernoff` has proved
bounds for decisions that may fail very rarely. `release_rule` says how likely a result is. This room knows
nothing of statistics and their parameters.
"""

__all__ = ["chernoff", "exact", "noisy_total", "randomized_bits", "release_rule", "touched_cells"]
