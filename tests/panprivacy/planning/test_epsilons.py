import pytest

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.planning.epsilons import epsilons_of

from .proposals import EVERY, proposal


@pytest.mark.parametrize("sampling_rate", [1.0, 0.2])
@pytest.mark.parametrize(("statistic", "own"), EVERY)
def test_shown_epsilons_lie_just_above_those_of_the_guarantees(statistic, own, sampling_rate):
    mechanism = proposal(statistic, **own, sampling_rate=sampling_rate, cohort_size=20).mechanism()
    shown = epsilons_of(mechanism)
    stated = {
        guarantee.model: guarantee
        for guarantee in mechanism.guarantees()
        if guarantee.relation == Relation.REPLACE and not guarantee.dishonest_fraction
    }
    pairs = [
        (shown.local, stated[Model.LOCAL].epsilon),
        (shown.aggregator, stated[Model.AGGREGATOR].epsilon),
        (shown.sampled, stated[Model.SAMPLED].epsilon if Model.SAMPLED in stated else None),
    ]
    for found, exact in pairs:
        assert (found is None) == (exact is None)
        if found is not None and exact is not None:
            # A promise is stated as such where the noise, rounded up, keeps a little more.
            assert exact * (1 - 1e-5) <= found <= exact * (1 + 2e-5)
