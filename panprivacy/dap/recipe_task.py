"""A two-server recipe as a task of DAP, the same on the devices and on both servers.

The task's identifier is the recipe's, so a share that is sealed to it is bound to every parameter of the
recipe. The configuration repeats what aggregators need to know by themselves, above all the cohort size.
"""

from panprivacy.dap.basics import BatchMode, Interval
from panprivacy.dap.task import TaskConfiguration, task_interval_extension
from panprivacy.recipe import PublishedRecipe
from panprivacy.statistic import ReportStatistic
from panprivacy.trust_models.two_server import TwoServers
from panprivacy.two_server.configuration import IDENTIFIER, PanPrivateCountVec

TASK_INFO = b"panapp recipe"

REPORT_TIME = 0
"""The time that every report of a recipe carries, so that it says nothing of a device. Its unit is all the
time until the recipe closes: from 1970 to then is one batch bucket, and the task interval."""


def task_of(recipe: PublishedRecipe) -> tuple[bytes, TaskConfiguration]:
    """Task identifier (32 bytes) and configuration of a recipe of two servers; ValueError for another."""
    servers, mechanism = recipe.servers, recipe.calibrated_statistic
    if not isinstance(servers, TwoServers) or not isinstance(mechanism, ReportStatistic):
        raise ValueError("a recipe that is not of two servers is no task of theirs")
    vdaf = PanPrivateCountVec(servers.scheme, mechanism.report_ciphertexts)
    configuration = TaskConfiguration(
        task_info=TASK_INFO,
        leader_aggregator_endpoint=servers.leader_url,
        helper_aggregator_endpoint=servers.helper_url,
        time_precision=int(recipe.closes_at.timestamp()),
        min_batch_size=mechanism.cohort_size,
        batch_mode=BatchMode.TIME_INTERVAL,
        batch_config=b"",
        vdaf_type=IDENTIFIER,
        vdaf_configuration=vdaf.encode(),
        extensions=(task_interval_extension(Interval(REPORT_TIME, 1)),),
    )
    return bytes.fromhex(recipe.identifier), configuration
