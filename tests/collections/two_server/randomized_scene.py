"""Devices that randomize one value, and such as send what they like, to the leader and helper of `scene`."""

import random
import secrets
from collections.abc import Iterable, Sequence
from typing import Any

from django.utils import timezone

from dap.hpke_keys import hpke_config_list
from panprivacy.dap.basics import REPORT_ID_BYTES
from panprivacy.dap.client import ShardedReport, seal_report, shard_measurement
from panprivacy.dap.recipe_task import REPORT_TIME, task_of
from panprivacy.dap.upload import Report, ReportMetadata
from panprivacy.dap.vdafs import context_of, prio3_of
from recipes.models import Recipe
from releases.models import Release
from releases.operations import result_release
from tests.collections.two_server.scene import settle, upload
from trust_models.publishing import recipe_close

_TOGETHER = 200


def honest_reports(recipe: Recipe, measurements: Iterable[Sequence[int]]) -> list[Report]:
    """What devices upload that made these measurements of their values."""
    task_id, configuration = task_of(recipe.published)
    source = secrets.SystemRandom()
    return _sealed(
        recipe,
        (
            shard_measurement(task_id, configuration, measurement, time=REPORT_TIME, random_source=source)
            for measurement in measurements
        ),
    )


def lying_report(recipe: Recipe, elements: Sequence[int]) -> Report:
    """What a device uploads that shares any elements of the field, and proves of them what it can."""
    task_id, configuration = task_of(recipe.published)
    vdaf, report_id = prio3_of(configuration), secrets.token_bytes(REPORT_ID_BYTES)
    public, (leader, helper) = vdaf.shard_encoded(
        context_of(task_id), elements, report_id, secrets.token_bytes(vdaf.rand_size)
    )
    sharded = ShardedReport(ReportMetadata(report_id, REPORT_TIME), public, leader, helper)
    return _sealed(recipe, [sharded])[0]


def undecodable_report(recipe: Recipe, measurement: Sequence[int]) -> Report:
    """An honest report whose leader's share begins with no element of the field."""
    made = shard_measurement(
        *task_of(recipe.published), measurement, time=REPORT_TIME, random_source=secrets.SystemRandom()
    )
    leader = b"\xff" * 16 + made.leader_share[16:]
    sharded = ShardedReport(made.metadata, made.public_share, leader, made.helper_share)
    return _sealed(recipe, [sharded])[0]


def encoded(recipe: Recipe, measurement: Sequence[int]) -> list[Any]:
    """The elements that an honest device shares."""
    return list(prio3_of(task_of(recipe.published)[1]).circuit.encode(measurement))


def released(recipe: Recipe, reports: Iterable[Report]) -> tuple[Release, list[Any]]:
    """The result of all of them, and what the leader answered to those that it did not take."""
    refused, batch = [], list(reports)
    for at in range(0, len(batch), _TOGETHER):
        refused += upload(recipe, batch[at : at + _TOGETHER])
    closed = recipe_close(recipe=recipe, actor=None)
    settle()
    release = result_release(recipe=closed)
    assert release is not None
    return release, refused


def randomized(recipe: Recipe, values: Iterable[Any], source: random.Random) -> list[tuple[int, ...]]:
    """The measurements of devices with these values; those that send nothing have none."""
    statistic: Any = recipe.published.calibrated_statistic
    made = (statistic.randomize(value, source) for value in values)
    return [measurement for measurement in made if measurement is not None]


def _sealed(recipe: Recipe, sharded: Iterable[ShardedReport]) -> list[Report]:
    """As devices seal them that all asked for the keys at the same time: once is enough here."""
    config = hpke_config_list(now=timezone.now()).configs[0]
    task_id, configuration = task_of(recipe.published)
    source = secrets.SystemRandom()
    return [seal_report(one, task_id, configuration, config, config, source) for one in sharded]
