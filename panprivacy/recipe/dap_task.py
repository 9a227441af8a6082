"""A two-server recipe as a task of DAP, the same on the devices and on both servers.

The task's identifier is the recipe's, so a share that is sealed to it is bound to every parameter of the
recipe. The configuration repeats what aggregators need to know by themselves, above all the cohort size.
"""

from typing import Any

from panprivacy.protocols.dap.basics import BatchMode, Interval
from panprivacy.protocols.dap.task import TaskConfiguration, task_interval_extension
from panprivacy.protocols.encrypted_shares.configuration import IDENTIFIER, PanPrivateCountVec
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.interface import ReportStatistic
from panprivacy.statistics.randomized.interface import Randomizer
from panprivacy.statistics.trust_models.two_server import TwoServers

TASK_INFO = b"panapp recipe"

REPORT_TIME = 0
"""The time that every report of a recipe carries, so that it reveals nothing about a device. Its unit is all
the
time until the recipe closes: from 1970 to then is one batch bucket, and the task interval."""


def task_of(recipe: PublishedRecipe) -> tuple[bytes, TaskConfiguration]:
    """Task identifier (32 bytes) and configuration of a recipe of two servers; ValueError for another."""
    servers, statistic = recipe.servers, recipe.calibrated_statistic
    if not isinstance(servers, TwoServers) or not isinstance(statistic, ReportStatistic):
        raise ValueError("a recipe that is not of two servers is no task of theirs")
    vdaf_type, vdaf_configuration = _vdaf(servers, statistic)
    configuration = TaskConfiguration(
        task_info=TASK_INFO,
        leader_aggregator_endpoint=servers.leader_url,
        helper_aggregator_endpoint=servers.helper_url,
        time_precision=int(recipe.closes_at.timestamp()),
        min_batch_size=statistic.cohort_size,
        batch_mode=BatchMode.TIME_INTERVAL,
        batch_config=b"",
        vdaf_type=vdaf_type,
        vdaf_configuration=vdaf_configuration,
        extensions=(task_interval_extension(Interval(REPORT_TIME, 1)),),
    )
    return bytes.fromhex(recipe.identifier), configuration


def _vdaf(servers: TwoServers, statistic: ReportStatistic[Any]) -> tuple[int, bytes]:
    """Code point and encoded parameters: plain shares if devices encrypt to no key of the recipe."""
    if servers.scheme is not None:
        return IDENTIFIER, PanPrivateCountVec(servers.scheme, statistic.report_ciphertexts).encode()
    if not isinstance(statistic, Randomizer):
        raise ValueError(f"devices of {statistic.statistic} send no plain shares")
    return statistic.vdaf_type, statistic.vdaf_message.encode()
