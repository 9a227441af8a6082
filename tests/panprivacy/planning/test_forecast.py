"""What waiting is worth, against the planner's own expectation."""

import pytest

from panprivacy.accounting.noisy_count import usual_margin
from panprivacy.planning.expectation import shown_margin
from panprivacy.planning.forecast import EARLIEST, ReachedMargin, final_reports, reached_margin
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
    found = reached_margin(asked, 2_000, servers=OneServer)
    assert found == ReachedMargin(shown_margin(asked, round(2_000 / rate)), likely=True)
    assert reached_margin(asked, 5_000.0, servers=OneServer).margin < found.margin


def test_result_is_likely_from_the_cohort_size_on():
    asked = mechanism()
    for reports in (999, 999.9, 1_000):
        assert reached_margin(asked, reports, servers=OneServer).likely is (reports == 1_000)


def test_two_servers_need_the_margin_beyond_the_cohort_size():
    asked, usual = mechanism(), usual_margin(1_000)
    for reports, gives in ((1_000, False), (1_000 + usual, False), (1_000 + 2 * usual, True)):
        assert reached_margin(asked, reports, servers=TwoServers).likely is gives
        assert reached_margin(asked, reports, servers=OneServer).likely


@pytest.mark.parametrize(("reports", "passed"), [(0, 0.5), (2_000, 0.0), (2_000, EARLIEST / 2)])
def test_without_a_pace_no_final_number_is_expected(reports, passed):
    assert final_reports(mechanism().parameters, reports, passed) is None


@pytest.mark.parametrize(("passed", "final"), [(0.4, 5_000), (0.41, 4_900), (0.411, 4_900), (0.99, 2_000)])
def test_final_number_follows_the_pace_to_two_digits(passed, final):
    assert final_reports(mechanism().parameters, 2_000, passed) == final


def test_no_more_are_expected_than_hear_of_it_nor_fewer_than_there_are():
    asked = mechanism(sampling_rate=0.5).parameters
    assert final_reports(asked, 2_000, 0.1, population_size=10_000) == 5_000
    assert final_reports(asked, 2_000, 0.1, population_size=1_000) == 2_000
    assert final_reports(asked, 12_340, 1.0) == 12_340
