"""Reports to two servers, by DAP (draft 18, section 4.4): sealed to each, and uploaded to the leader."""

import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from panprivacy.device.transport import (
    Delivery,
    RecipeNotOpenError,
    Rejection,
    ReportRejectedError,
    Transport,
    TransportError,
    WireReport,
    refusal,
)
from panprivacy.device.upload import Upload
from panprivacy.formats import base64_text
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.basics import HpkeConfig, ReportError
from panprivacy.protocols.dap.client import ShardedReport, seal_report, shard_measurement
from panprivacy.protocols.dap.hpke import choose_config
from panprivacy.protocols.dap.media import is_media_type, media_type
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.token_extension import token_extension
from panprivacy.protocols.dap.upload import (
    HpkeConfigList,
    Report,
    ReportMetadata,
    UploadErrors,
    UploadRequest,
)
from panprivacy.protocols.encrypted_shares.shared_key import SharedKey
from panprivacy.protocols.hpke import HpkeSealError, KemName
from panprivacy.recipe.dap_task import REPORT_TIME, task_of
from panprivacy.recipe.document import PublishedRecipe

CLOSED_OR_EARLY = frozenset(
    {
        ReportError.REPORT_DROPPED,
        ReportError.REPORT_TOO_EARLY,
        ReportError.TASK_NOT_STARTED,
        ReportError.TASK_EXPIRED,
        ReportError.BATCH_COLLECTED,
    }
)
"""A leader's temporary reasons not to accept a good report."""


@dataclass(frozen=True)
class UploadOutcome:
    """The outcome of an upload.

    Attributes:
        errors: one for each report, in their order; None if it was taken.
        repeated: whether the request was sent more than once, so that a report may have been replayed by
            its own first attempt.
    """

    errors: tuple[ReportError | None, ...]
    repeated: bool


class TaskClient:
    """A client of one task. Fetches the aggregators' HPKE configurations once, and again when the leader
    reports that they are outdated. Not safe to share between threads.

    Args:
        task_id: 32 bytes.
        configuration: of the task; no part of it comes from the aggregators.
        transport: for requests to other servers; stays open.
        random_source: `secrets.SystemRandom()` by default; seeded ones in tests only, because the seed opens
            every share.
        kem: with which shares are sealed; None for the first that an aggregator offers.

    Raises:
        ValueError: an endpoint that the transport cannot reach.
    """

    def __init__(
        self,
        task_id: bytes,
        configuration: TaskConfiguration,
        transport: Transport,
        *,
        random_source: random.Random | None = None,
        kem: KemName | None = None,
    ) -> None:
        self._task_id = task_id
        self._configuration = configuration
        self._leader = transport.at(configuration.leader_aggregator_endpoint)
        self._helper = transport.at(configuration.helper_aggregator_endpoint)
        self._random_source = secrets.SystemRandom() if random_source is None else random_source
        self._configs: tuple[HpkeConfig, HpkeConfig] | None = None
        self._kem = kem
        self._target = f"/tasks/{base64_text.encode_url(task_id)}/reports"

    def close(self) -> None:
        """Let go of connections."""
        self._leader.close()
        self._helper.close()

    def measure(self, measurements: Sequence[Any], *, time: int) -> UploadOutcome:
        """Report measurements to a plain Prio3 task; raises as `shard_measurement` and `upload`.

        Args:
            time: of them all, in units of the task's time precision, since 1970.
        """
        return self.upload(
            [
                shard_measurement(
                    self._task_id,
                    self._configuration,
                    measurement,
                    time=time,
                    random_source=self._random_source,
                )
                for measurement in measurements
            ]
        )

    def upload(self, reports: Sequence[ShardedReport]) -> UploadOutcome:
        """Seal reports and send them in one request; those that were sealed to outdated keys in one more.

        Raises:
            TransportError: the request was refused as a whole or not delivered, or an answer is not of the
                documented form.
        """
        first = self._post(reports)
        outdated = [index for index, error in enumerate(first.errors) if error is ReportError.OUTDATED_CONFIG]
        if not outdated:
            return first
        self._configs = None
        second = self._post([reports[index] for index in outdated])
        errors = dict(enumerate(first.errors)) | dict(zip(outdated, second.errors, strict=True))
        return UploadOutcome(tuple(errors.values()), first.repeated or second.repeated)

    def sealing(self) -> Callable[[ShardedReport], Report]:
        """What seals reports to the aggregators' current keys; raises like `upload`."""
        configs = self._configs
        if configs is None:
            leader = fetch_config(self._leader, self._kem)
            configs = self._configs = leader, fetch_config(self._helper, self._kem)

        def seal(report: ShardedReport) -> Report:
            try:
                return seal_report(report, self._task_id, self._configuration, *configs, self._random_source)
            except HpkeSealError as error:
                raise TransportError(f"an aggregator's HPKE key cannot be used: {error}") from error

        return seal

    def _post(self, reports: Sequence[ShardedReport]) -> UploadOutcome:
        return self.upload_sealed(tuple(map(self.sealing(), reports)))

    def upload_sealed(self, reports: Sequence[Report]) -> UploadOutcome:
        """Send reports in one request; those that were sealed to outdated keys are refused.

        Raises:
            TransportError: as in `upload`.
        """
        request = UploadRequest(tuple(reports)).encode()
        accept, content_type = media_type(UploadErrors), media_type(UploadRequest)
        answer = self._leader.exchange(
            "POST", self._target, body=request, content_type=content_type, accept=accept
        )
        if answer.status // 100 != 2:  # any success is one (section 3.3)
            raise refusal(answer, self._target)
        if not answer.body:
            return UploadOutcome((None,) * len(reports), answer.attempts > 1)
        if not is_media_type(answer.headers.get("content-type", ""), UploadErrors):
            raise TransportError("the leader's answer to an upload is not of the documented type")
        return UploadOutcome(_errors_of(answer.body, reports), answer.attempts > 1)


class DapUpload(Upload):
    """To the leader of a two-server recipe, which passes the helper's share on.

    Args:
        recipe: verified, of two servers.
        transport: for requests to other servers; stays open.
    """

    duplicate_reason = ReportError.REPORT_REPLAYED.reason

    def __init__(self, recipe: PublishedRecipe, transport: Transport) -> None:
        self._split = _shares_of(recipe)
        self._is_plain = recipe.servers.scheme is None
        self._client = TaskClient(*task_of(recipe), transport, kem=recipe.hpke)

    def submit(self, report: WireReport) -> Delivery:
        [error] = self._client.upload([self._sharded(report)]).errors
        return self._delivery(error)

    def keeping(self) -> Callable[[WireReport], WireReport]:
        """Sealed if its shares are plain: an attacker that reads both has the measurement."""
        if not self._is_plain:
            return super().keeping()
        seal = self._client.sealing()
        return lambda report: replace(report, ciphertexts=(seal(self._sharded(report)).encode(),))

    def submit_kept(self, report: WireReport) -> Delivery:
        if not self._is_plain:
            return self.submit(report)
        [sealed] = report.ciphertexts
        [error] = self._client.upload_sealed([Report.decode(sealed)]).errors
        if error is ReportError.OUTDATED_CONFIG:
            # The report is older than the keys: sealed shares cannot be sealed again.
            message = f"the leader answered {error.reason}: this report was kept for too long"
            raise ReportRejectedError(message, problem={"reason": error.reason})
        return self._delivery(error)

    def _delivery(self, error: ReportError | None) -> Delivery:
        if error is None:
            return Delivery.ACCEPTED
        if error is ReportError.REPORT_REPLAYED:
            return Delivery.DUPLICATE
        message, problem = f"the leader answered {error.reason}", {"reason": error.reason}
        if error is ReportError.OUTDATED_CONFIG:
            raise TransportError(f"{message}, to the keys that it had just handed out", problem=problem)
        if error in CLOSED_OR_EARLY:
            raise RecipeNotOpenError(message, problem=problem)
        raise ReportRejectedError(message, problem=problem)

    def _submitted(self, reports: Sequence[WireReport]) -> tuple[list[Rejection], bool]:
        uploaded = self._client.upload([self._sharded(report) for report in reports])
        rejected = [
            Rejection(index, error.reason, "")
            for index, error in enumerate(uploaded.errors)
            if error is not None
        ]
        return rejected, uploaded.repeated

    def close(self) -> None:
        self._client.close()

    def _sharded(self, report: WireReport) -> ShardedReport:
        extensions = () if report.token is None else (token_extension(report.token),)
        return ShardedReport(
            ReportMetadata(report.nonce, REPORT_TIME, extensions), *self._split(report.ciphertexts)
        )


def _shares_of(recipe: PublishedRecipe) -> Callable[[Sequence[bytes]], Sequence[bytes]]:
    """The function that makes the public, the leader's and the helper's share from the parts of a report."""
    if recipe.servers.scheme is None:
        return lambda shares: shares
    public_key = recipe.public_key
    if not isinstance(public_key, SharedKey):
        raise TypeError(f"a recipe of two servers has a SharedKey, not {type(public_key).__name__}")

    def split(ciphertexts: Sequence[bytes]) -> Sequence[bytes]:
        parts = [public_key.split(ciphertext) for ciphertext in ciphertexts]
        # The leader's parts of all sharings, and the helper's.
        return b"", b"".join(leader for leader, _ in parts), b"".join(helper for _, helper in parts)

    return split


def fetch_config(aggregator: Transport, kem: KemName | None = None) -> HpkeConfig:
    """The HPKE configuration to seal to, freshly fetched from the aggregator.

    Args:
        kem: the recipe's; None for the first that is supported.

    Raises:
        TransportError: no answer, or none with a key that can be used.
    """
    answer = aggregator.get("/hpke_config", accept=media_type(HpkeConfigList))
    if not is_media_type(answer.headers.get("content-type", ""), HpkeConfigList):
        raise TransportError("an aggregator's HPKE configurations are not of the documented type")
    try:
        return choose_config(HpkeConfigList.decode(answer.body), kem)
    except (InvalidMessageError, HpkeSealError) as error:
        raise TransportError(f"an aggregator's HPKE configurations cannot be used: {error}") from error


def _errors_of(body: bytes, reports: Sequence[Report]) -> tuple[ReportError | None, ...]:
    """The leader's errors, matched to their reports: it names them in the order of the request."""
    try:
        named = list(UploadErrors.decode(body).status)
    except InvalidMessageError as error:
        raise TransportError(f"the leader's answer to an upload does not decode: {error}") from error
    errors: list[ReportError | None] = []
    for report in reports:
        is_named = bool(named) and named[0].id == report.report_metadata.report_id
        errors.append(named.pop(0).error if is_named else None)
    if named:
        raise TransportError("the leader's answer names reports that it was not sent, or in another order")
    return tuple(errors)
