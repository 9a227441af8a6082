"""How much work a fleet of values is said to be."""

import pytest

from devices_sim.forecast import Forecast, forecast_of_values
from devices_sim.workloads.bucket import ValueWorkload, listed
from tests.devices_sim.shuffler import MemoryShuffler


def test_forecast_counts_every_device_and_measures_what_fewer_take() -> None:
    recipe = MemoryShuffler(cohort_size=3).recipe
    few, many = (
        forecast_of_values(recipe, ValueWorkload(listed((f"d{n}", "0") for n in range(users))), 1)
        for users in (5, 50_000)
    )
    assert (few.users, many.users) == (5, 50_000)
    assert few.messages == many.messages == recipe.calibrated_statistic.most_messages
    # A tenth of the time for 50,000 is far more than 5 take, however busy the machine is.
    assert 0 < few.seconds < many.seconds / 10


def test_forecast_says_messages_encryptions_and_a_rough_time() -> None:
    assert str(Forecast(users=2_000, messages=3_000, seconds=301.0)) == (
        "2,000 users send up to 3,000 messages each: 6,000,000 encryptions, about 5 minutes, "
        "and as many decryptions after that"
    )
    assert "about 1 second," in str(Forecast(users=1, messages=2, seconds=0.01))
    assert "about 90 seconds," in str(Forecast(users=1, messages=2, seconds=90.0))


@pytest.mark.parametrize(("seconds", "is_long"), [(1.0, False), (20.0, True), (600.0, True)])
def test_forecast_is_long_where_the_whole_may_exceed_a_minute(seconds: float, is_long: bool) -> None:
    assert Forecast(users=1, messages=1, seconds=seconds).is_long is is_long
