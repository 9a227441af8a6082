"""The table of simulated devices has a line for every input of devices."""

from types import SimpleNamespace

import pytest

from devices_sim.devices import SIMULATED_DEVICES, simulated_class
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.device_input import DeviceInput


def test_every_input_of_devices_can_be_simulated() -> None:
    assert set(SIMULATED_DEVICES) == {given for given in DeviceInput if given.has_devices}


def test_statistic_without_devices_cannot_be_simulated() -> None:
    with pytest.raises(FieldError, match="statistic: cannot be density: no devices report to a curator"):
        simulated_class(SimpleNamespace(statistic="density"))
