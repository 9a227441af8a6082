"""Intervals by exact tests: where a truth may lie, seen from a noisy whole number, however few are counted.

`exact` turns any family of distributions into bounds. The families are `randomized_bits` and `noisy_total`,
of what devices report, and `touched_cells`, of tables of streams. This room knows nothing of statistics and
their parameters.
"""

__all__ = ["exact", "noisy_total", "randomized_bits", "touched_cells"]
