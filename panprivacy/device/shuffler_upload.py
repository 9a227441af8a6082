"""Messages to a shuffler, which mixes those of a whole cohort, and only then are they read
(docs/protocol.md)."""

import http
import json
from collections.abc import Mapping, Sequence

from panprivacy.device.transport import (
    JSON,
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
from panprivacy.device.upload import Upload
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer

BATCH_FULL = "batch_full"
"""Why a shuffler takes no more messages, by the names in the counts of fleets."""

PROBLEMS: Mapping[object, type[TransportError]] = {
    "/problems/batch-full": BatchFullError,
    "/problems/recipe-not-open": RecipeNotOpenError,
    "/problems/malformed-messages": ReportRejectedError,
    "/problems/invalid-ciphertext": ReportRejectedError,
    "/problems/report-rejected": ReportRejectedError,
}
"""Types of the shuffler's problem documents that are distinguished."""


class ShufflerUpload(Upload):
    """Upload to the shuffler of a recipe, which sees how many messages each sender sent and can read none.

    Args:
        recipe: verified, of a shuffler.
        transport: for requests to other servers; stays open.
    """

    batch_reports = 1

    def __init__(self, recipe: PublishedRecipe, transport: Transport) -> None:
        servers = recipe.servers
        if not isinstance(servers, ShufflerAndAnalyzer):
            raise TypeError(f"a recipe with a shuffler names it, unlike {type(servers).__name__}")
        self._shuffler = transport.at(servers.shuffler_url)
        self._target = f"/recipes/{recipe.identifier}/messages"

    def submit(self, report: WireReport) -> Delivery:
        """As in `Upload`; what has already arrived is accepted again, and counts once.

        Raises:
            BatchFullError: the shuffler has the messages of a full cohort.
        """
        body = json.dumps(report.members("messages")).encode()
        answer = self._shuffler.exchange("POST", self._target, body=body, content_type=JSON)
        if answer.status == http.HTTPStatus.CREATED:
            return Delivery.ACCEPTED
        error = refusal(answer, self._target)
        raise error.as_type(PROBLEMS.get(error.problem.get("type"), TransportError))

    def _submitted(self, reports: Sequence[WireReport]) -> tuple[list[Rejection], bool]:
        """Every user sends separately, in simulations too. No repeated report is a rejection."""
        rejected = []
        for index, report in enumerate(reports):
            try:
                self.submit(report)
            except BatchFullError as error:
                rejected.append(Rejection(index, BATCH_FULL, str(error)))
        return rejected, False

    def close(self) -> None:
        self._shuffler.close()
