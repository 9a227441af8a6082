"""Simulations: a copy of a recipe or a series, and workers that report to it for simulated devices.

Others call `operations` (start, cancel), `series_simulations` (those of a series) and `deletion`, which raise
`errors`, `selectors`, `simulation_ends`, `access` and `workloads` (what devices there may be), read `models`,
and use `outcome` (what `collect` prints). `tries` has those that browsers join. `api` is the REST API.
`installation` runs servers on this machine, and `collect` has what commands do with them.

It must not know pages, nor how reports are stored or added up: its devices speak to the site as real ones
do.
"""

__all__ = [
    "access",
    "actions",
    "api",
    "collect",
    "deletion",
    "errors",
    "installation",
    "models",
    "operations",
    "outcome",
    "selectors",
    "series_simulations",
    "simulation_ends",
    "tries",
    "workloads",
]
