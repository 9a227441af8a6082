"""Proposals for tests: every statistic, and what they come to."""

from typing import Any

import pytest

from panprivacy.mechanisms import MECHANISMS
from panprivacy.planning.expectation import shown_margin
from panprivacy.planning.proposal import Proposal

OWN: dict[str, list[dict[str, Any]]] = {
    "count_nonzero": [{}],
    "histogram": [{"k": 10}],
    "mean": [{"k": 10, "guarantee": "aggregator"}, {"k": 10, "guarantee": "local"}],
}

EVERY = [
    pytest.param(statistic, own, id=f"{statistic}{'-'.join(('', *map(str, own.values())))}")
    for statistic in MECHANISMS
    for own in OWN[statistic]
]
"""Every registered statistic: one that is added without an entry here fails at collection."""


def proposal(statistic: str = "count_nonzero", population_size: int = 10_000, **changes: Any) -> Proposal:
    parameters = {"steps": 7, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 1_000, **changes}
    return Proposal.from_mapping(
        {"statistic": statistic, "parameters": parameters, "population_size": population_size}
    )


def margin_of(considered: Proposal) -> float:
    mechanism = considered.mechanism()
    error = mechanism.expected_standard_error(considered.population_size)
    return shown_margin(mechanism, error, considered.population_size)


def aggregator_epsilon_of(considered: Proposal) -> float:
    mechanism = considered.mechanism()
    return mechanism.aggregator_event().epsilon(mechanism.parameters.delta)
