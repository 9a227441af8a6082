from typing import Any

import pytest

from panprivacy.planning.proposal import Proposal
from tests.refusals import field_refused

from .proposals import EVERY, proposal


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"statistic": "median"}, "statistic"),
        ({"population_size": 0}, "population_size"),
        ({"population_size": 1.5}, "population_size"),
        ({"population_size": None}, "population_size"),
        ({"parameters": []}, "parameters"),
        ({"parameters": {"aggregator_epsilon": 1.0}}, "parameters.aggregator_epsilon"),
        ({"parameters": {"steps": 7}}, "parameters.epsilon"),
        ({"encryption": "rot13"}, "encryption"),
        ({"devices": 3}, "devices"),
    ],
)
def test_proposal_that_cannot_be_is_refused_by_name(changes: dict[str, Any], field: str) -> None:
    with field_refused(field):
        Proposal.from_mapping({**proposal().as_dict(), **changes})


@pytest.mark.parametrize(("statistic", "own"), EVERY)
def test_proposal_written_and_read_is_the_same(statistic: str, own: dict[str, Any]) -> None:
    considered = proposal(statistic, **own)
    assert Proposal.from_mapping(considered.as_dict()) == considered


@pytest.mark.parametrize("epsilon", [1e-4, 0.01])
def test_proposal_whose_reports_could_not_be_decrypted_has_no_mechanism(epsilon: float) -> None:
    """Where the noise alone is too much, and where it is too much with the counts."""
    considered = proposal("mean", k=1_000, guarantee="local", epsilon=epsilon)
    with field_refused("epsilon", match="can be decrypted; raise ε or δ, or lower k"):
        considered.mechanism()
