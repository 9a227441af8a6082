"""The estimate of the work of a fleet of values."""

import pytest

from devices_sim.forecast import FleetForecast


@pytest.mark.parametrize(("seconds", "is_long"), [(1.0, False), (20.0, True), (600.0, True)])
def test_forecast_is_long_where_the_whole_may_exceed_a_minute(seconds: float, is_long: bool) -> None:
    assert FleetForecast(users=1, messages=1, seconds=seconds).is_long is is_long
