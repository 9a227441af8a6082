"""The tables on the device and in simulations: each has a line for everything under which devices report."""

from types import SimpleNamespace

import pytest

from devices_sim.simulated import SIMULATED_DEVICES, simulated_class
from panprivacy.accounting.trust import Trust
from panprivacy.device.trust_models import TRUST_MODELS, report_path
from panprivacy.device.value_reports import VALUE_REPORTS
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.device_input import DeviceInput


def test_devices_report_under_every_trust_model_except_a_curator() -> None:
    assert list(TRUST_MODELS) == list(Trust)
    assert {trust for trust, path in TRUST_MODELS.items() if path is None} == {Trust.CURATOR}
    with pytest.raises(ValueError, match="no devices report under the trust model curator"):
        report_path(SimpleNamespace(trust=Trust.CURATOR), b"")


def test_every_input_of_devices_is_in_the_tables() -> None:
    assert set(SIMULATED_DEVICES) == {given for given in DeviceInput if given.has_devices}
    assert set(VALUE_REPORTS) == {given for given in DeviceInput if given.is_one_value}


def test_statistic_without_devices_cannot_be_simulated() -> None:
    with pytest.raises(FieldError, match="statistic: cannot be density: no devices report to a curator"):
        simulated_class(SimpleNamespace(statistic="density"))
