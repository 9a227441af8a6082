"""Which file of simulated devices `collect` takes: an option for each kind of device."""

import os
from collections.abc import Mapping
from pathlib import Path

from django.core.management.base import CommandParser

from devices_sim.trust_models import TRUST_MODELS, ReportingModel
from panprivacy.formats.csv_table import header_text
from panprivacy.formats.errors import FieldError

OPTIONS: Mapping[str, tuple[str, ...]] = {
    model.option: model.header for model in TRUST_MODELS.values() if isinstance(model, ReportingModel)
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


def device_file(model: ReportingModel, options: Mapping[str, Path | None], statistic: str) -> Path:
    """The file among these that the devices need.

    Args:
        options: by name, every one of `OPTIONS`; None if it was not given.
        statistic: named in refusals.

    Raises:
        FieldError: another was given, or none, or the file cannot be read.
    """
    wanted = f"--{model.option} FILE.csv, with the header {header_text(model.header)}"
    for name in OPTIONS:
        if name != model.option and options[name] is not None:
            raise FieldError(name, f"is not for {statistic}: its devices need {wanted}")
    path = options[model.option]
    if path is None:
        raise FieldError(model.option, f"is missing: {statistic} needs {wanted}")
    if path.is_dir() or not os.access(path, os.R_OK):
        raise FieldError(model.option, f"{path} is not a file that can be read")
    return path
