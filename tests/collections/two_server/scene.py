"""An installation that is the leader, and a helper in the same process and database behind its own addresses.

The helper is the real one, with a signing key of its own; only HTTP is left out.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from dap.hpke_keys import hpke_config_list
from dap.models import Side, Task
from dap.operations import task_named
from leader.advancing import tasks_advance
from leader.aggregating import aggregation_job_drive
from leader.collecting import collection_job_drive
from leader.end_notices import end_notice_drive
from leader.uploads import reports_upload
from panprivacy.admission import report_nonce
from panprivacy.dap.basics import Role
from panprivacy.dap.hpke import seal_input_share
from panprivacy.dap.lengths import report_lengths
from panprivacy.dap.recipe_task import REPORT_TIME, task_of
from panprivacy.dap.token_extension import token_extension
from panprivacy.dap.upload import InputShareAad, PlaintextInputShare, Report, ReportMetadata
from panprivacy.dap.vdafs import context_of, prio3_of
from panprivacy.privacy_pass.tokens import Token
from panprivacy.trust import Trust
from panprivacy.two_server.part import VDAF, encode_part
from panprivacy.two_server.shared_key import SharedKey
from peers.partner import Partner
from recipes.models import Recipe
from tests import network
from tests.factories import recipe_members
from tests.network import Answer, Transport, deliver, verification_key_of
from tests.network import unreachable as unreachable
from trust_models import trust_model_of
from trust_models.publishing import recipe_publish_file

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


def task(recipe: Recipe, side: Side) -> Task | None:
    return task_named(task_id=bytes.fromhex(str(recipe.identifier)), side=side)


def sealed_report(
    recipe: Recipe,
    bits: Sequence[int],
    *,
    other_helper_part: bool = False,
    token: bytes | None = None,
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
    key = published.public_key.bound_to(nonce)

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


def shared_report(recipe: Recipe, measurement: Sequence[int], *, encoded: bool = False) -> Report:
    """A plain report: shares of a measurement with their proof.

    Args:
        encoded: whether `measurement` is field elements already, as a cheat would choose them.
    """
    source = secrets.SystemRandom()
    task_id, configuration = task_of(recipe.published)
    vdaf, nonce = prio3_of(configuration), secrets.token_bytes(16)
    shard = vdaf.shard_encoded if encoded else vdaf.shard
    public, (leader, helper) = shard(
        context_of(task_id), measurement, nonce, source.randbytes(vdaf.rand_size)
    )
    return _sealed(recipe, nonce, leader, helper, public=public)


def upload(recipe: Recipe, reports: Sequence[Report]) -> list[Any]:
    leader = task(recipe, Side.LEADER)
    assert leader is not None
    return reports_upload(task=leader, reports=reports, now=timezone.now())


def rejected(recipe: Recipe) -> list[dict[str, int]]:
    """What the leader and the helper counted as rejected, most of which is shown to nobody."""
    servers = trust_model_of(recipe).progress(recipe).servers
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
