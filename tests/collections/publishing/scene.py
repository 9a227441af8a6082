"""An installation that is the leader, and a helper in the same process and database behind its own addresses.

The helper is the real one, with a signing key of its own; only HTTP is left out.
"""

import random
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from dap.hpke_keys import hpke_config_list
from dap.leader.aggregation import aggregation_job_drive
from dap.leader.collection import collection_job_drive
from dap.leader.end_notices import end_notice_drive
from dap.leader.periodic_check import tasks_advance
from dap.leader.uploads import reports_upload
from dap.models import Side, Task
from dap.operations import task_named
from panprivacy.accounting.trust import Trust
from panprivacy.encryption.interface import key_of_report
from panprivacy.protocols.dap.basics import REPORT_ID_BYTES, Role
from panprivacy.protocols.dap.client import ShardedReport, seal_report, shard_measurement
from panprivacy.protocols.dap.hpke import seal_input_share
from panprivacy.protocols.dap.lengths import report_lengths
from panprivacy.protocols.dap.token_extension import token_extension
from panprivacy.protocols.dap.upload import InputShareAad, PlaintextInputShare, Report, ReportMetadata
from panprivacy.protocols.dap.vdafs import context_of, prio3_of
from panprivacy.protocols.encrypted_shares.configuration import VDAF, encode_part
from panprivacy.protocols.encrypted_shares.shared_key import SharedKey
from panprivacy.protocols.privacy_pass.tokens import Token
from panprivacy.recipe.dap_task import REPORT_TIME, task_of
from panprivacy.recipe.token import report_nonce
from partners.partner import Partner
from publishing.publication import recipe_close, recipe_publish_file
from recipes.models import Recipe
from results.models import Release
from results.trust_models import collection_model_of
from tests import network
from tests.factories import recipe_members
from tests.network import Answer, Transport, deliver, verification_key_of
from tests.network import unreachable as unreachable
from tests.scenes import released

HELPER_ORIGIN = "https://helper.example"
HELPER_URL = f"{HELPER_ORIGIN}/helper"
LEADER_URL = "https://leader.example/leader"
HELPER_SIGNING_KEY = bytes(range(32, 64))


def reached(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """A network that works."""
    with override_settings(
        SIGNING_KEY=HELPER_SIGNING_KEY,
        LEADER_KEY=verification_key_of(settings.SIGNING_KEY),
        HELPER_URL=HELPER_URL,
        SMALLEST_COHORT=3,
    ):
        return deliver(
            method,
            url.removeprefix(HELPER_ORIGIN),
            headers,
            body,
            urlconf="tests.network_urls",
            base="/helper",
        )


def losing_answers(*methods: str) -> Transport:
    return network.losing_answers(reached, *methods)


def losing_counts(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """A network that loses the helper's answers on how many reports it counted."""
    answer = reached(method, url, headers, body)
    if url.endswith("/count"):
        raise TimeoutError
    return answer


def partner(transport: Any = reached, *, key: bytes | None = None) -> Partner:
    return Partner(
        url=HELPER_URL,
        verification_key=verification_key_of(HELPER_SIGNING_KEY) if key is None else key,
        leader_url=LEADER_URL,
        signing_key=settings.SIGNING_KEY,
        transport=transport,
    )


def partners(*arguments: Any, **options: Any) -> dict[Trust, Partner]:
    return {Trust.TWO_SERVER: partner(*arguments, **options)}


def two_server_members(**changes: Any) -> dict[str, Any]:
    return recipe_members(trust="two_server", **changes)


def two_server_recipe(*, simulation: bool = False, **changes: Any) -> Recipe:
    return recipe_publish_file(
        members=two_server_members(**changes), actor=None, simulation=simulation, partners=partners()
    )


def task(recipe: Recipe, side: Side) -> Task:
    found = task_named(task_id=bytes.fromhex(str(recipe.identifier)), side=side)
    assert found is not None
    return found


def sealed_report(
    recipe: Recipe, bits: Sequence[int], *, other_helper_part: bool = False, token: bytes | None = None
) -> Report:
    """What a device without randomized response would upload.

    Args:
        other_helper_part: take the helper's shares from another sharing of the same bits, so that verifying
            the two halves fails.
        token: carried by the report, whose identifier it then gives.
    """
    published = recipe.published
    source = secrets.SystemRandom()
    nonce = secrets.token_bytes(16) if token is None else report_nonce(Token.decode(token))
    key = key_of_report(published.public_key, nonce)

    def parts() -> list[tuple[bytes, bytes]]:
        return [key.split(bytes(key.encrypt(bit, source))) for bit in bits]

    shared = parts()
    leader = b"".join(part for part, _ in shared)
    helper = b"".join(part for _, part in (parts() if other_helper_part else shared))
    return _sealed(recipe, nonce, leader, helper, token)


def unopenable_report(recipe: Recipe) -> Report:
    """A report of which the leader's half holds no share, as one has that was mixed from unlike states."""
    _, configuration = task_of(recipe.published)
    lengths = report_lengths(configuration)
    leader, helper = bytes(lengths.leader_share), bytes(lengths.helper_share)
    return _sealed(recipe, secrets.token_bytes(16), leader, helper)


def poisoned_report(recipe: Recipe, elements: Sequence[int]) -> Report:
    """What a device would upload that shares these field elements, and proves of them what it can."""
    published = recipe.published
    source = secrets.SystemRandom()
    nonce = secrets.token_bytes(16)
    key = published.public_key
    assert isinstance(key, SharedKey)
    leader, helper = b"", b""
    for element in elements:
        rand = source.randbytes(VDAF.rand_size)
        _, shares = VDAF.shard_encoded(key.context + nonce, [element], nonce, rand)
        leader += encode_part(key.leader.encrypt_bytes(shares[0], source))
        helper += encode_part(key.helper.encrypt_bytes(shares[1], source))
    return _sealed(recipe, nonce, leader, helper)


def _sealed(
    recipe: Recipe,
    nonce: bytes,
    leader: bytes,
    helper: bytes,
    token: bytes | None = None,
    public: bytes = b"",
) -> Report:
    source = secrets.SystemRandom()
    task_id, configuration = task_of(recipe.published)
    extensions = () if token is None else (token_extension(token),)
    metadata = ReportMetadata(nonce, REPORT_TIME, extensions)
    aad = InputShareAad(task_id, configuration, metadata, public)
    config = hpke_config_list(now=timezone.now()).configs[0]
    sealed = [
        seal_input_share(config, role, aad, PlaintextInputShare((), share), source)
        for role, share in ((Role.LEADER, leader), (Role.HELPER, helper))
    ]
    return Report(metadata, public, *sealed)


def upload(recipe: Recipe, reports: Sequence[Report]) -> list[Any]:
    """The errors with which the leader answers."""
    return reports_upload(task=task(recipe, Side.LEADER), reports=reports, now=timezone.now())


def reported(recipe: Recipe, *bits: int, bad: int = 0) -> Recipe:
    """The same with reports of these bits, and such whose two halves do not belong together."""
    reports = [sealed_report(recipe, [bit]) for bit in bits]
    reports += [sealed_report(recipe, [1], other_helper_part=True) for _ in range(bad)]
    if reports:
        assert upload(recipe, reports) == []
    return recipe


def closed(recipe: Recipe) -> Recipe:
    return recipe_close(recipe=recipe, actor=None)


def collected(*bits: int, bad: int = 0, **changes: Any) -> Recipe:
    """A closed recipe of which both servers hold their sums."""
    recipe = closed(reported(two_server_recipe(**changes), *bits, bad=bad))
    settle()
    return recipe


def rejected(recipe: Recipe) -> list[dict[str, int]]:
    """What the leader and the helper counted as rejected, most of which is shown to nobody."""
    servers = collection_model_of(recipe).progress(recipe).servers
    return [{**server.public_rejections, **server.hidden_rejections} for server in servers]


def tick(*, now: datetime | None = None, transport: Any = reached) -> None:
    """One periodic look of the leader, and all the work that it hands out."""
    now = now or timezone.now()
    with_helper = partner(transport)
    due = tasks_advance(now=now)
    for aggregation_job in due.aggregation_jobs:
        aggregation_job_drive(job=aggregation_job, peer=with_helper.client(), now=now)
    for collection_job in due.collection_jobs:
        collection_job_drive(job=collection_job, peer=with_helper.client(), now=now)
    for pk in due.end_notices:
        end_notice_drive(task=Task.objects.get(pk=pk), partner=with_helper, now=now)


def settle(*, after: timedelta = timedelta()) -> None:
    """Ticks that are far enough apart for every lease to be over, the first one `after` from now."""
    for step in range(6):
        tick(now=timezone.now() + after + timedelta(minutes=6 * step))


_TOGETHER = 200


def honest_reports(recipe: Recipe, measurements: Iterable[Sequence[int]]) -> list[Report]:
    """What devices upload that made these measurements of their values."""
    task_id, configuration = task_of(recipe.published)
    source = secrets.SystemRandom()
    return _sealed_shards(
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
    return _sealed_shards(recipe, [sharded])[0]


def undecodable_report(recipe: Recipe, measurement: Sequence[int]) -> Report:
    """An honest report whose leader's share begins with no element of the field."""
    made = shard_measurement(
        *task_of(recipe.published), measurement, time=REPORT_TIME, random_source=secrets.SystemRandom()
    )
    leader = b"\xff" * 16 + made.leader_share[16:]
    sharded = ShardedReport(made.metadata, made.public_share, leader, made.helper_share)
    return _sealed_shards(recipe, [sharded])[0]


def encoded(recipe: Recipe, measurement: Sequence[int]) -> list[Any]:
    """The elements that an honest device shares."""
    return list(prio3_of(task_of(recipe.published)[1]).circuit.encode(measurement))


def result_of_reports(recipe: Recipe, reports: Iterable[Report]) -> tuple[Release, list[Any]]:
    """The result of all of them, and what the leader answered to those that it did not take."""
    refused, batch = [], list(reports)
    for at in range(0, len(batch), _TOGETHER):
        refused += upload(recipe, batch[at : at + _TOGETHER])
    recipe = closed(recipe)
    settle()
    return released(recipe), refused


def randomized(recipe: Recipe, values: Iterable[Any], source: random.Random) -> list[tuple[int, ...]]:
    """The measurements of devices with these values; those that send nothing have none."""
    statistic: Any = recipe.published.calibrated_statistic
    made = (statistic.randomize(value, source) for value in values)
    return [measurement for measurement in made if measurement is not None]


def _sealed_shards(recipe: Recipe, sharded: Iterable[ShardedReport]) -> list[Report]:
    """As devices seal them that all asked for the keys at the same time: once is enough here."""
    config = hpke_config_list(now=timezone.now()).configs[0]
    task_id, configuration = task_of(recipe.published)
    source = secrets.SystemRandom()
    return [seal_report(one, task_id, configuration, config, config, source) for one in sharded]
