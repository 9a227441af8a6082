"""Proposals for tests: every statistic, and what they come to."""

from typing import Any

import pytest

from panprivacy.planning.expectation import shown_margin
from panprivacy.planning.proposal import Proposal
from panprivacy.statistics.catalogue import statistic_class
from panprivacy.statistics.events import MECHANISMS
from panprivacy.statistics.events.interface import Mechanism
from tests.statistic_members import every_choice, without_implied

COMMON = {"steps": 7, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 1_000}


def _own(statistic: type[Mechanism[Any]]) -> list[dict[str, Any]]:
    """What it needs beside the common parameters, with every choice."""
    cases = every_choice(statistic, **COMMON, k=10)
    return [{name: value for name, value in case.items() if name not in COMMON} for case in cases]


EVERY = [
    pytest.param(name, own, id=f"{name}{'-'.join(('', *map(str, own.values())))}")
    for name, statistic in MECHANISMS.items()
    for own in _own(statistic)
]
"""Every registered statistic."""


def proposal(statistic: str = "count_nonzero", population_size: int = 10_000, **changes: Any) -> Proposal:
    parameters = without_implied(statistic_class(statistic), {**COMMON, **changes})
    return Proposal.from_mapping(
        {"statistic": statistic, "parameters": parameters, "population_size": population_size}
    )


def margin_of(considered: Proposal) -> float:
    return shown_margin(considered.mechanism(), considered.population_size)


def aggregator_epsilon_of(considered: Proposal) -> float:
    mechanism = considered.mechanism()
    return mechanism.aggregator_event().epsilon(mechanism.parameters.delta)
