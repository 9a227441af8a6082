"""Which file of simulated devices `collect` takes: an option for each kind of device."""

import os
from collections.abc import Mapping
from pathlib import Path

from django.core.management.base import CommandParser

from devices_sim.devices import SIMULATED_DEVICES, SimulatedDevices
from panprivacy.formats.csv_table import header_text
from panprivacy.formats.errors import FieldError

OPTIONS: Mapping[str, tuple[str, ...]] = {
    simulated.option: simulated.header for simulated in SIMULATED_DEVICES.values()
}
"""Option → columns of its file."""


def add_weights_option(parser: CommandParser) -> None:
    """The option of commands that simulate devices of recipes with segments."""
    parser.add_argument(
        "--weights",
        nargs="+",
        type=float,
        metavar="WEIGHT",
        help="relative sizes of the recipe's segments, in their order, for devices whose own the file does "
        "not name; equal if left out",
    )


def device_file(
    simulated: type[SimulatedDevices], options: Mapping[str, Path | None], statistic: str
) -> Path:
    """The file among these that the devices need.

    Args:
        options: by name, every one of `OPTIONS`; None if it was not given.
        statistic: named in refusals.

    Raises:
        FieldError: another was given, or none, or the file cannot be read.
    """
    wanted = f"--{simulated.option} FILE.csv, with the header {header_text(simulated.header)}"
    for name in OPTIONS:
        if name != simulated.option and options[name] is not None:
            raise FieldError(name, f"is not for {statistic}: its devices need {wanted}")
    path = options[simulated.option]
    if path is None:
        raise FieldError(simulated.option, f"is missing: {statistic} needs {wanted}")
    if path.is_dir() or not os.access(path, os.R_OK):
        raise FieldError(simulated.option, f"{path} is not a file that can be read")
    return path
