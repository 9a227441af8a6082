"""Reports to a single server, over the public REST API (docs/protocol.md)."""

import http
import json
from collections.abc import Sequence
from urllib.parse import quote

from panprivacy.device.transport import (
    API,
    DUPLICATE,
    JSON,
    Delivery,
    RecipeNotOpenError,
    Rejection,
    ReportRejectedError,
    Transport,
    TransportError,
    WireReport,
    json_object,
    refusal,
)
from panprivacy.device.upload import Upload

NOT_OPEN = "/problems/recipe-not-open"


class RestUpload(Upload):
    """To the server that decrypts them.

    Args:
        identifier: the recipe's.
        transport: to that server; stays open.
    """

    def __init__(self, identifier: str, transport: Transport) -> None:
        self._transport = transport
        self._target = f"{API}/recipes/{quote(identifier, safe='')}/reports/"

    def submit(self, report: WireReport) -> Delivery:
        body = json.dumps(report.members("ciphertexts")).encode()
        answer = self._transport.exchange("POST", self._target, body=body, content_type=JSON)
        if answer.status == http.HTTPStatus.CREATED:
            return Delivery.ACCEPTED
        error = refusal(answer, self._target)
        reason = error.problem.get("reason")
        if reason == DUPLICATE:
            return Delivery.DUPLICATE
        if reason is not None:
            raise error.as_type(ReportRejectedError)
        if error.problem.get("type") == NOT_OPEN:
            raise error.as_type(RecipeNotOpenError)
        raise error

    def _submitted(self, reports: Sequence[WireReport]) -> tuple[list[Rejection], bool]:
        if self.batch_reports == 1:
            return self._submitted_singly(reports), False
        body = json.dumps({"reports": [report.members("ciphertexts") for report in reports]}).encode()
        target = f"{self._target}batch/"
        answer = self._transport.exchange("POST", target, body=body, content_type=JSON)
        if answer.status != http.HTTPStatus.OK:
            raise refusal(answer, target)
        members = json_object(answer)
        try:
            accepted = int(members["accepted"])
            rejected = [
                Rejection(int(entry["index"]), str(entry["reason"]), str(entry.get("detail", "")))
                for entry in members["rejected"]
            ]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise TransportError("the answer to a batch is not of the documented form") from None
        if accepted + len(rejected) != len(reports):
            raise TransportError(
                f"the server answered for {accepted + len(rejected)} reports of {len(reports)}"
            )
        return rejected, answer.attempts > 1

    def _submitted_singly(self, reports: Sequence[WireReport]) -> list[Rejection]:
        """Each in a request of its own; a duplicate was stored by a previous attempt, and is no rejection."""
        rejected = []
        for index, report in enumerate(reports):
            try:
                self.submit(report)
            except ReportRejectedError as error:
                rejected.append(Rejection(index, str(error.problem.get("reason")), str(error)))
        return rejected
