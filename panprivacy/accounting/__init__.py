"""What releases cost in privacy: guarantees, and the computations that they come from.

A release is a `PrivacyEvent` (`interface`), one file per kind; `registry` reads events from stored data.
`guarantees` has the statements that recipes and pages show, `calibration` solves for a parameter,
`composition` adds releases up, and `question` answers `manage.py account`. This package knows nothing of
statistics, encryption or protocols: an event holds in numbers all that matters here.

Modules are imported one by one, because some of them load SciPy.
"""

__all__ = [
    "binomial",
    "binomial_noise",
    "calibration",
    "composition",
    "discrete_gaussian_sum",
    "discrete_gaussian_vector",
    "failing",
    "gaussian",
    "given",
    "guarantees",
    "hidden_count",
    "importance_sampling",
    "interface",
    "one_hot_sum",
    "privacy_filter",
    "question",
    "randomized_response_sum",
    "redrawn",
    "registry",
    "sampling",
    "shuffled",
    "thinned_response_sum",
    "version",
]
