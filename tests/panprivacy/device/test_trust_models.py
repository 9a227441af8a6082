"""The tables on the device: each has a line for everything under which devices report."""

from types import SimpleNamespace

import pytest

from panprivacy.accounting.trust import Trust
from panprivacy.device.trust_models import TRUST_MODELS, report_path
from panprivacy.device.value_reports import VALUE_REPORTS
from panprivacy.statistics.device_input import DeviceInput


def test_devices_report_under_every_trust_model_except_a_curator() -> None:
    assert list(TRUST_MODELS) == list(Trust)
    assert {trust for trust, path in TRUST_MODELS.items() if path is None} == {Trust.CURATOR}
    with pytest.raises(ValueError, match="no devices report under the trust model curator"):
        report_path(SimpleNamespace(trust=Trust.CURATOR), b"")


def test_every_input_of_one_value_has_its_reports() -> None:
    assert set(VALUE_REPORTS) == {given for given in DeviceInput if given.is_one_value}
