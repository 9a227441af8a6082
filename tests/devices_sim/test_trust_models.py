"""The table of trust models on the device."""

import pytest

from devices_sim.trust_models import TRUST_MODELS, ReportingModel
from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError


def test_every_trust_model_is_in_the_table() -> None:
    assert set(TRUST_MODELS) == set(Trust)


def test_devices_report_under_every_trust_model_except_a_curator() -> None:
    silent = {trust for trust, model in TRUST_MODELS.items() if not isinstance(model, ReportingModel)}
    assert silent == {Trust.CURATOR}
    with pytest.raises(FieldError, match="statistic: cannot be distinct: no devices report to a curator"):
        TRUST_MODELS[Trust.CURATOR].reporting("distinct")
