"""Intervals for a true value, given a noisy whole number, valid for any number of counted devices.

`exact` turns any family of distributions into intervals by exact tests. The families are `randomized_bits`
and `noisy_total`, of what devices report, and `touched_cells`, of tables of streams. `chernoff` has proved
bounds for decisions that may fail very rarely. `release_rule` gives the probability of a result. This package
does not depend on statistics and their parameters.
"""

__all__ = ["chernoff", "exact", "noisy_total", "randomized_bits", "release_rule", "touched_cells"]
