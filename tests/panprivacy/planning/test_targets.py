from typing import Any

import pytest

from panprivacy.planning.targets import Targets
from tests.refusals import field_refused


@pytest.mark.parametrize(
    ("targets", "field"),
    [
        ({}, "targets"),
        ([], "targets"),
        ({"margin": 0}, "margin"),
        ({"margin": True}, "margin"),
        ({"margin": "2"}, "margin"),
        ({"aggregator_epsilon": 1.0}, "aggregator_delta"),
        ({"aggregator_delta": 1e-6}, "aggregator_epsilon"),
        ({"aggregator_epsilon": 1.0, "aggregator_delta": 2}, "aggregator_delta"),
        ({"points": 2}, "points"),
    ],
)
def test_targets_that_cannot_be_are_refused_by_name(targets: Any, field: str) -> None:
    with field_refused(field):
        Targets.from_mapping(targets)
