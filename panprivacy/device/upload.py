"""The interface of sending reports, the same for every trust model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from panprivacy.device.transport import DUPLICATE, BatchAnswer, Closable, Delivery, Rejection, WireReport

BATCH_REPORTS = 1_000
"""The most reports of one batch: every server accepts that number."""


class Upload(Closable, ABC):
    """The upload of one recipe's reports. Not safe to share between threads."""

    batch_reports: int = BATCH_REPORTS
    """Most reports of one batch; 1 through a relay, because every request has the length of one report."""

    duplicate_reason: str = DUPLICATE
    """Of a report in a batch that is rejected because the server has it already."""

    @abstractmethod
    def submit(self, report: WireReport) -> Delivery:
        """Send one report. May be repeated: because of its nonce it counts once.

        Raises:
            ReportRejectedError: finally, with the reason.
            RecipeNotOpenError: the recipe takes no reports: it is not yet open, or closed.
            TransportError: not delivered for another reason.
        """

    def keeping(self) -> Callable[[WireReport], WireReport]:
        """The function that turns a report into what a device may store until delivery: the report itself if
        its parts are encrypted. Get it first, then make the report: after that, nothing can fail.

        Raises:
            TransportError: a required server cannot be reached.
        """
        return lambda report: report

    def submit_kept(self, report: WireReport) -> Delivery:
        """Send one stored report; raises like `submit`."""
        return self.submit(report)

    def submit_batch(self, reports: Sequence[WireReport], *, sent_before: bool = False) -> BatchAnswer:
        """Send up to `batch_reports` reports in one request.

        If the request had to be repeated, a report that is rejected as a duplicate was
        stored by a previous attempt: it counts as accepted.

        Args:
            sent_before: the caller may have sent the same reports in a previous request.

        Raises:
            TransportError: the batch as a whole was refused or not delivered.
        """
        rejected, repeated = self._submitted(reports)
        if sent_before or repeated:
            rejected = [rejection for rejection in rejected if rejection.reason != self.duplicate_reason]
        return BatchAnswer(len(reports) - len(rejected), tuple(rejected))

    @abstractmethod
    def _submitted(self, reports: Sequence[WireReport]) -> tuple[list[Rejection], bool]:
        """Send a batch; raises as `submit_batch`.

        Returns:
            the rejected reports, and whether the request was sent more than once.
        """
