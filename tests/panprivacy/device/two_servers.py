"""A two-server recipe as a device is served it, and in memory the two servers that it reports to."""

import base64
import functools
import random
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.state_file import Enrolment
from panprivacy.device.transport import ServedRecipe
from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.encryption.interface import PrivateKey
from panprivacy.protocols.dap.basics import HpkeConfig, ReportError, Role
from panprivacy.protocols.dap.hpke import Recipient, generate_keypair, open_input_share
from panprivacy.protocols.dap.media import is_media_type, media_type, problem_type
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.upload import (
    HpkeConfigList,
    InputShareAad,
    Report,
    ReportUploadStatus,
    UploadErrors,
    UploadRequest,
)
from panprivacy.protocols.dap.vdafs import verifier_for
from panprivacy.protocols.hpke import KemName
from panprivacy.protocols.prio3.interface import ReportInput, Transition
from panprivacy.recipe.dap_task import task_of
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.catalogue import statistic_class
from panprivacy.statistics.trust_models.two_server import TwoServers
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.server import SIGNING_KEY, VERIFICATION_KEY, answered, page_of
from tests.tokens import ATTESTER_URL, ISSUER_KEY, token_admission

HELPER_SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
HELPER_KEY = HELPER_SIGNING_KEY.public_key().public_bytes_raw()
LEADER_URL = "https://leader.example/leader"
HELPER_URL = "https://helper.example/helper"


@functools.cache
def share_key_of(scheme: str, side: int) -> PrivateKey:
    """The leader's (0) or helper's (1), the same each time: worth nothing, known to everyone."""
    return generate_private_key(scheme, random.Random(20261120 + side))


def two_server_recipe(
    *,
    encryption: str = DEFAULT_SCHEME,
    leader_url: str = LEADER_URL,
    helper_url: str = HELPER_URL,
    simulation: bool = True,
    tokens: bool = False,
    attester_url: str = ATTESTER_URL,
    relay: str | None = None,
    **members: object,
) -> PublishedRecipe:
    """A published recipe; keyword arguments replace members of its draft."""
    members |= {"admission": "token"} if tokens else {}
    members |= {} if relay is None else {"relay": True}
    draft = {
        "name": "Late arrivals",
        "question": "How many devices had an event?",
        "statistic": "count_nonzero",
        "trust": "two_server",
        "steps": 4,
        "epsilon": 2.0,
        "delta": 1e-6,
        "cohort_size": 2,
        "encryption": encryption,
    } | members
    encrypts = TwoServers.encrypts(statistic_class(draft["statistic"]))
    draft |= {} if encrypts else {"encryption": None}
    draft = {name: value for name, value in draft.items() if value is not None}
    asked = RecipeDraft.from_mapping(draft)
    leader, helper = None, None
    if encrypts:
        leader, helper = (share_key_of(encryption, side).public_key.to_json() for side in (0, 1))
    servers = TwoServers(
        leader_url=leader_url,
        leader_key_members=leader,
        helper_url=helper_url,
        helper_key_members=helper,
        helper_verification_key=HELPER_KEY,
    )
    return asked.publish(
        servers,
        datetime(2026, 1, 1, tzinfo=UTC),
        simulation=simulation,
        admission=token_admission(attester_url=attester_url) if tokens else None,
        relay=relay,
    )


def served_by_two(recipe: PublishedRecipe, status: str = "open") -> ServedRecipe:
    """With the signatures of both."""
    return ServedRecipe(
        recipe.identifier,
        recipe.document,
        recipe.sign(SIGNING_KEY),
        status,
        recipe.sign(HELPER_SIGNING_KEY),
        None if recipe.admission is None else recipe.sign(ISSUER_KEY),
    )


def two_server_enrolment(**members: object) -> tuple[PublishedRecipe, Enrolment]:
    """A recipe of two servers, and what a device keeps of it; arguments as of `two_server_recipe`."""
    recipe = two_server_recipe(**members)
    return recipe, Enrolment(served_by_two(recipe), VERIFICATION_KEY, "", HELPER_KEY)


def _key_of_each_kem(number: int, source: random.Random) -> list[tuple[HpkeConfig, bytes]]:
    """With this number and the next."""
    return [generate_keypair(number + place, source, kem) for place, kem in enumerate(KemName)]


class MemoryAggregators:
    """Leader and helper of one task, as far as a client sees them, and what they make of its reports.

    Attributes:
        reports: report identifier → report, as uploaded.
        task_id, configuration: of the task.
        errors: what the leader answers for the next reports in place of taking them; None takes one.
        answer: (content type, body) that the leader gives in place of its own; it still stores.
        config_answer: likewise for the helper's HPKE configurations.
        fetches: how often HPKE configurations were fetched.
        batches: number of reports of each upload.
    """

    def __init__(self, task_id: bytes = bytes(32), configuration: TaskConfiguration | None = None) -> None:
        self.task_id = task_id
        self.configuration = configuration
        self.reports: dict[bytes, Report] = {}
        self.errors: list[ReportError | None] = []
        self.answer: tuple[str, bytes] | None = None
        self.config_answer: tuple[str, bytes] | None = None
        self.fetches = 0
        self.batches: list[int] = []
        self._source = random.Random(5)
        self._keys = {role: _key_of_each_kem(0, self._source) for role in (Role.LEADER, Role.HELPER)}

    def rotate(self) -> None:
        """Give the leader new HPKE keys; the old ones count no more."""
        keys = self._keys[Role.LEADER]
        keys += _key_of_each_kem(len(keys), self._source)

    def transport(self) -> InProcessTransport:
        return InProcessTransport(self.leader, others={LEADER_URL: self.leader, HELPER_URL: self.helper})

    def leader(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """A WSGI application."""
        path = environ["PATH_INFO"].removeprefix("/leader")
        if path == "/hpke_config":
            return self._configs(Role.LEADER, start_response)
        name = base64.urlsafe_b64encode(self.task_id).rstrip(b"=").decode()
        if (environ["REQUEST_METHOD"], path) != ("POST", f"/tasks/{name}/reports"):
            problem = {"type": problem_type("unrecognizedTask"), "title": "No such task"}
            return answered(start_response, 404, problem)
        assert is_media_type(environ["CONTENT_TYPE"], UploadRequest)
        uploaded = UploadRequest.decode(environ["wsgi.input"].read()).reports
        self.batches.append(len(uploaded))
        errors = [(report, self._store(report)) for report in uploaded]
        statuses = [ReportUploadStatus(report.report_metadata.report_id, e) for report, e in errors if e]
        type_, body = self.answer or (media_type(UploadErrors), UploadErrors(tuple(statuses)).encode())
        start_response("200 OK", [("Content-Type", type_)] if body else [])
        return [body]

    def helper(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """A WSGI application."""
        assert environ["PATH_INFO"] == "/helper/hpke_config"
        return self._configs(Role.HELPER, start_response)

    def result(self, verify_key: bytes = bytes(32), share_keys: Sequence[PrivateKey | None] = (None, None)):
        """What both aggregators, in one place, make of all reports."""
        leader, helper = (
            verifier_for(self.configuration, self.task_id, role, verify_key, key)
            for role, key in zip((Role.LEADER, Role.HELPER), share_keys, strict=True)
        )
        opened = [(self._opened(Role.LEADER, r), self._opened(Role.HELPER, r)) for r in self.reports.values()]
        firsts = leader.leader_init([one for one, _ in opened])
        assert all(isinstance(first, Transition) for first in firsts)
        seconds = helper.helper_init([other for _, other in opened], [first.outbound for first in firsts])
        assert all(isinstance(second, Transition) for second in seconds)
        out_shares = leader.leader_finish(
            [first.state for first in firsts], [second.outbound for second in seconds]
        )
        return leader.unshard(
            leader.aggregate(out_shares),
            helper.aggregate(second.out_share for second in seconds),
            len(self.reports),
        )

    def _store(self, report: Report) -> ReportError | None:
        report_id = report.report_metadata.report_id
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            return error
        if report.leader_encrypted_input_share.config_id < len(self._keys[Role.LEADER]) - len(KemName):
            return ReportError.OUTDATED_CONFIG
        if report_id in self.reports:
            return ReportError.REPORT_REPLAYED
        self.reports[report_id] = report
        return None

    def _configs(self, role: Role, start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.fetches += 1
        configs = tuple(config for config, _ in self._keys[role][-len(KemName) :])
        ours = media_type(HpkeConfigList), HpkeConfigList(configs).encode()
        type_, body = (self.config_answer if role is Role.HELPER else None) or ours
        start_response("200 OK", [("Content-Type", type_)])
        return [body]

    def _opened(self, role: Role, report: Report) -> ReportInput:
        aad = InputShareAad(self.task_id, self.configuration, report.report_metadata, report.public_share)
        sealed = (
            report.leader_encrypted_input_share
            if role is Role.LEADER
            else report.helper_encrypted_input_share
        )
        config, private_key = self._keys[role][sealed.config_id]
        share = open_input_share(Recipient(config, private_key), role, aad, sealed)
        assert share.private_extensions == ()
        return ReportInput(report.report_metadata.report_id, report.public_share, share.payload)


class MemoryPair(MemoryAggregators):
    """The two servers of a recipe; the leader's site publishes it.

    Attributes:
        status: of the recipe, by the site's answer.
    """

    def __init__(self, **members: object) -> None:
        super().__init__()
        self.status = "open"
        self.publish(**members)

    def publish(self, **members: object) -> None:
        """Publish another recipe, arguments as of `two_server_recipe`."""
        self.recipe = two_server_recipe(**members)
        self.task_id, self.configuration = task_of(self.recipe)

    @property
    def served(self) -> ServedRecipe:
        return served_by_two(self.recipe, self.status)

    def transport(self) -> InProcessTransport:
        return InProcessTransport(self.site, others={LEADER_URL: self.leader, HELPER_URL: self.helper})

    def site(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """A WSGI application: the recipe's page of the REST API, and below /leader the leader."""
        if environ["PATH_INFO"].startswith("/leader/"):
            return self.leader(environ, start_response)
        assert environ["PATH_INFO"] == f"/api/v1/recipes/{self.recipe.identifier}/"
        return answered(start_response, 200, page_of(self.served))

    def counts(self) -> tuple[int, ...]:
        """What both servers make of all reports: the sum of what was sent, before it is debiased."""
        scheme = self.recipe.servers.scheme
        if scheme is None:
            return self.result()
        return self.result(share_keys=[share_key_of(scheme, side) for side in (0, 1)])
