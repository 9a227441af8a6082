"""Whether we can run a task of plain shares with a partner: checked before it begins, on either side."""

import random
import secrets

from django.conf import settings

from dap.task_files import TaskParameters
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.dap.basics import HpkeConfig
from panprivacy.protocols.dap.hpke import seal
from panprivacy.protocols.dap.task import MOST_BATCH_SIZE
from panprivacy.protocols.dap.vdafs import UnsupportedVdafError, prio3_of
from panprivacy.protocols.hpke import HpkeSealError

MOST_PRECISION = 366 * 86_400
"""Seconds: a year."""


def janus_parameters_check(parameters: TaskParameters, *, role: str, own_url: str) -> None:
    """Check a file of a partner that runs Janus.

    Args:
        role: what we are in the task: `LEADER` or `HELPER`.
        own_url: our base address in this role.

    Raises:
        FieldError: a field is not as it must be.
    """
    if parameters.role != role:
        raise FieldError("role", f"must be {role}")
    if parameters.own_url != own_url:
        raise FieldError("own_aggregator_endpoint", f"must be {own_url}")
    require_janus("peer_aggregator_endpoint", parameters.peer_url)
    configuration = parameters.configuration
    require_within("min_batch_size", configuration.min_batch_size, 2, MOST_BATCH_SIZE)
    require_within("time_precision", configuration.time_precision, 1, MOST_PRECISION)
    try:
        prio3_of(configuration)
    except UnsupportedVdafError as error:
        raise FieldError("vdaf", str(error)) from None
    require_sealable(parameters.collector_config, secrets.SystemRandom())


def require_janus(field: str, url: str) -> None:
    """FieldError unless `url` is the base address of a partner that runs Janus."""
    if url not in settings.JANUS_PARTNERS:
        raise FieldError(field, "must be one of PANAPP_JANUS_PARTNERS")


def require_sealable(config: HpkeConfig, random_source: random.Random) -> None:
    """FieldError unless something can be sealed to a collector: checked now, not when a batch is due."""
    try:
        seal(config, b"", b"", b"", random_source)
    except HpkeSealError as error:
        raise FieldError("collector_hpke_config", str(error)) from None


def require_within(field: str, value: int, least: int, most: int) -> None:
    """FieldError unless `value` is in the range."""
    if not least <= value <= most:
        raise FieldError(field, f"must be {least:,} to {most:,}, not {value:,}")
