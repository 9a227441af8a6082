"""What releases cost in privacy: guarantees, and the computations that they come from.

A release is a `PrivacyEvent` (`interface`), one file per type; `registry` reads events from stored data.
`guarantees` has the statements that recipes and pages show, `calibration` solves for a parameter,
`composition` adds releases up, and `question` answers `manage.py account`. This package knows nothing of
statistics, encryption or protocols: an event holds in numbers all that matters here.

Modules are imported one by one, because some of them load SciPy.
"""

__all__ = [
    "assignments",
    "binomial",
    "binomial_noise",
    "calibration",
    "composed_loss",
    "composition",
    "discrete_gaussian_sum",
    "discrete_gaussian_vector",
    "discrete_laplace",
    "epsilon_delta",
    "gaussian",
    "guarantees",
    "hidden_count",
    "importance_sampling",
    "interface",
    "loss_sum",
    "noisy_count",
    "number_cache",
    "one_hot_sum",
    "privacy_filter",
    "privacy_loss",
    "question",
    "randomized_response_sum",
    "rate_validation",
    "registry",
    "rejection_sampling",
    "rounding",
    "sampled_assignments",
    "sampling",
    "shuffling",
    "subsampled_response_sum",
    "trust",
    "vector_coin_sum",
]
