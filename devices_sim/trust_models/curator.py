"""Trust in a curator on the device: none takes part; the items of a stream are sent by `items`."""

from typing import NoReturn

from devices_sim.trust_models.interface import DeviceTrustModel
from panprivacy.formats.errors import FieldError


class Curator(DeviceTrustModel):
    """No devices report to a curator."""

    def reporting(self, statistic: str) -> NoReturn:
        raise FieldError(
            "statistic", f"cannot be {statistic}: no devices report to a curator (see `manage.py stream`)"
        )
