"""Messages to a shuffler, which mixes those of a whole cohort before anyone reads them (docs/protocol.md)."""

import http
from collections.abc import Mapping, Sequence
from typing import Any

import msgpack

from devices_sim.transport import (
    BatchAnswer,
    BatchFullError,
    Delivery,
    RecipeNotOpenError,
    Rejection,
    ReportRejectedError,
    Transport,
    TransportError,
    WireReport,
    refusal,
)
from devices_sim.upload import Upload
from panprivacy.recipe import PublishedRecipe
from panprivacy.trust_models.shuffler import ShufflerAndAnalyzer

MSGPACK = "application/msgpack"
BATCH_FULL = "batch_full"
"""Why a shuffler takes no more messages, as fleets count it."""

PROBLEMS: Mapping[object, type[TransportError]] = {
    "/problems/batch-full": BatchFullError,
    "/problems/recipe-not-open": RecipeNotOpenError,
    "/problems/malformed-messages": ReportRejectedError,
    "/problems/invalid-ciphertext": ReportRejectedError,
    "/problems/report-rejected": ReportRejectedError,
}
"""Types of the shuffler's problem documents that are told apart."""


class ShufflerUpload(Upload):
    """To the shuffler of a recipe, which sees who sent how many messages and can read none.

    Args:
        recipe: verified, of a shuffler.
        transport: what reaches other servers; stays open.
    """

    batch_reports = 1

    def __init__(self, recipe: PublishedRecipe, transport: Transport) -> None:
        servers = recipe.servers
        if not isinstance(servers, ShufflerAndAnalyzer):
            raise TypeError(f"a recipe with a shuffler names it, unlike {type(servers).__name__}")
        self._shuffler = transport.at(servers.shuffler_url)
        self._target = f"/recipes/{recipe.identifier}/messages"

    def submit(self, report: WireReport) -> Delivery:
        """As of `Upload`; what has arrived before is accepted again, and counts once.

        Raises:
            BatchFullError: the shuffler has all the users that it mixes.
        """
        content: dict[str, Any] = {"nonce": report.nonce, "messages": list(report.ciphertexts)}
        if report.token is not None:
            content["token"] = report.token
        body = msgpack.packb(content)
        answer = self._shuffler.exchange("POST", self._target, body=body, content_type=MSGPACK)
        if answer.status == http.HTTPStatus.CREATED:
            return Delivery.ACCEPTED
        error = refusal(answer, self._target)
        raise error.told_as(PROBLEMS.get(error.problem.get("type"), TransportError))

    def submit_batch(
        self,
        reports: Sequence[WireReport],
        *,
        sent_before: bool = False,  # noqa: ARG002  # a shuffler answers as it did before
    ) -> BatchAnswer:
        """As of `Upload`; every user sends by itself, in simulations too."""
        rejected = []
        for index, report in enumerate(reports):
            try:
                self.submit(report)
            except BatchFullError as error:
                rejected.append(Rejection(index, BATCH_FULL, str(error)))
        return BatchAnswer(len(reports) - len(rejected), tuple(rejected))

    def close(self) -> None:
        self._shuffler.close()
