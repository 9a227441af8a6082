from typing import Any

import pytest

from panprivacy.errors import FieldError
from panprivacy.planning.targets import Targets


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
    with pytest.raises(FieldError) as refused:
        Targets.from_mapping(targets)
    assert refused.value.field == field
