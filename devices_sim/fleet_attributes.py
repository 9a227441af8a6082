"""The attributes of simulated devices, for recipes with a target."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from devices_sim.workloads.bucket import require_device_name
from panprivacy.device.attributes import NONE_GIVEN
from panprivacy.formats.csv_table import CsvTable
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.recipe.targeting.attributes import FIELD, own_attributes, require_name, require_value

_DEVICE = "device"


def require_attributes(attributes: object | None, *, has_target: bool) -> None:
    """FieldError named `attributes` if a recipe with a target lacks them, or another recipe has them."""
    if has_target and attributes is None:
        raise NONE_GIVEN
    if attributes is not None and not has_target:
        raise FieldError(FIELD, "must be left out: the recipe has no target")


@dataclass(frozen=True)
class FleetAttributes:
    """The attributes of simulated devices. Picklable.

    Attributes:
        of_all: attributes that every device has.
        of_device: by the device's name, its additional attributes.
    """

    of_all: Mapping[str, str] = field(default_factory=dict)
    of_device: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The same for all devices as `os=linux,region=eu`, or a CSV file with the header device,os,….

        A device that the file does not name has none.

        Raises:
            FieldError: names the column and the line.
            OSError: the file cannot be read.
        """
        return cls(of_all=own_attributes(text)) if "=" in text else cls(of_device=_read(Path(text)))

    def of(self, device: str) -> Mapping[str, str]:
        """The attributes of this device."""
        return {**self.of_all, **self.of_device.get(device, {})}


def _read(path: Path) -> dict[str, dict[str, str]]:
    with path.open("rb") as file:
        rows = CsvTable(file, (_DEVICE,), field=FIELD, others="NAME,…")
        names = [require_name(FIELD, name) for name in rows.columns[1:]]
        found: dict[str, dict[str, str]] = {}
        for device, *values in rows:
            require_device_name(device, rows.line)
            if device in found:
                raise FieldError(_DEVICE, f"line {rows.line}, column 1: {as_typed(device)} is repeated")
            own = found[device] = {}
            for column, (name, value) in enumerate(zip(names, values, strict=True), start=2):
                try:
                    own[name] = require_value(name, value.strip())
                except FieldError as refusal:
                    message = f"line {rows.line}, column {column}: {refusal.message}"
                    raise FieldError(name, message) from None
    return found
