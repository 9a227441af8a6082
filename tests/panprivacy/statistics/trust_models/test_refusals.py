"""What a trust model says of statistics that it does not take."""

import pytest

from panprivacy.statistics.events import MECHANISMS
from panprivacy.statistics.randomized import RANDOMIZERS
from panprivacy.statistics.shuffle import SHUFFLE_STATISTICS
from panprivacy.statistics.trust_models import TRUST_MODELS

STATISTICS = {**MECHANISMS, **RANDOMIZERS, **SHUFFLE_STATISTICS}


@pytest.mark.parametrize(
    ("trust", "name", "reason"),
    [
        ("curator", "count_nonzero", "input"),
        ("shuffler", "count_nonzero", "input"),
        ("single_server", "distinct_elements", "input"),
        ("two_server", "mean", "cannot read reports"),
        ("single_server", "rare_categories", "two servers"),
    ],
)
def test_the_reason_is_what_stands_against_the_statistic(trust, name, reason):
    assert reason in TRUST_MODELS[trust].refusal(STATISTICS[name])
