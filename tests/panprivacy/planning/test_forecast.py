"""What waiting is worth, against the planner's own expectation."""

import pytest

from panprivacy.accounting.noisy_count import usual_margin
from panprivacy.planning.expectation import shown_margin
from panprivacy.planning.forecast import EARLIEST, MarginForecast, forecast
from panprivacy.statistics.events import MECHANISMS
from panprivacy.statistics.events.interface import Mechanism
from panprivacy.statistics.trust_models.single_server import OneServer
from panprivacy.statistics.trust_models.two_server import TwoServers


def mechanism(name: str = "count_nonzero", **changes: object) -> Mechanism:
    members = {"steps": 4, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 1_000, **changes}
    class_ = MECHANISMS[name]
    return class_(class_.parameters_class.from_mapping(members).calibrated())


@pytest.mark.parametrize("rate", [1.0, 0.25])
@pytest.mark.parametrize(
    ("name", "more"),
    [("count_nonzero", {}), ("histogram", {"k": 3}), ("mean", {"k": 3, "guarantee": "local"})],
)
def test_margins_are_those_of_a_plan_for_as_many_devices(name, more, rate):
    asked = mechanism(name, sampling_rate=rate, **more)
    found = forecast(asked, 2_000, 0.4, servers=OneServer)
    assert found.reports == 5_000
    assert found.now == shown_margin(asked, round(2_000 / rate))
    assert found.later == shown_margin(asked, round(5_000 / rate))
    assert found.later < found.now


def test_below_the_cohort_size_closing_gives_nothing_and_waiting_may():
    asked = mechanism()
    assert forecast(asked, 800, 0.5, servers=OneServer).now is None
    assert forecast(asked, 800, 0.5, servers=OneServer).later is not None
    nothing = MarginForecast(now=None, reports=800, later=None)
    assert forecast(asked, 400, 0.5, servers=OneServer) == nothing


def test_two_servers_need_the_margin_beyond_the_cohort_size():
    asked, usual = mechanism(), usual_margin(1_000)
    for reports, gives in ((1_000, False), (1_000 + usual, False), (1_000 + 2 * usual, True)):
        assert (forecast(asked, reports, 0.0, servers=TwoServers).now is not None) is gives
        assert forecast(asked, reports, 0.0, servers=OneServer).now is not None


@pytest.mark.parametrize(("reports", "passed"), [(0, 0.5), (2_000, 0.0), (2_000, EARLIEST / 2)])
def test_without_a_pace_nothing_is_said_of_waiting(reports, passed):
    found = forecast(mechanism(), reports, passed, servers=OneServer)
    assert (found.reports, found.later) == (None, None)
    assert (found.now is None) == (reports == 0)


def test_no_more_are_expected_than_hear_of_it_nor_fewer_than_there_are():
    asked = mechanism(sampling_rate=0.5)
    assert forecast(asked, 2_000, 0.1, population_size=10_000, servers=OneServer).reports == 5_000
    assert forecast(asked, 2_000, 0.1, population_size=1_000, servers=OneServer).reports == 2_000
