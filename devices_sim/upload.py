"""The interface of sending reports, the same for every trust model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from devices_sim.transport import BatchAnswer, Closable, Delivery, WireReport

BATCH_REPORTS = 1_000
"""Most reports of one batch: what every server takes."""


class Upload(Closable, ABC):
    """The way of one recipe's reports. Not safe to share between threads."""

    batch_reports: int = BATCH_REPORTS
    """Most reports of one batch; 1 through a relay, where every request has the length of one report."""

    @abstractmethod
    def submit(self, report: WireReport) -> Delivery:
        """Send one report. May be repeated: the nonce makes it count once.

        Raises:
            ReportRejectedError: for good, with the reason.
            RecipeNotOpenError: the recipe takes no reports: not yet, or no longer.
            TransportError: not delivered for another reason.
        """

    def keeping(self) -> Callable[[WireReport], WireReport]:
        """What makes of a report that which a device may keep of it until it is delivered: as it is, where
        its parts are encrypted. Ask for it before the report is made: later, nothing can fail any more.

        Raises:
            TransportError: a server that it takes cannot be reached.
        """
        return lambda report: report

    def submit_kept(self, report: WireReport) -> Delivery:
        """Send one report that was kept; raises as `submit`."""
        return self.submit(report)

    @abstractmethod
    def submit_batch(self, reports: Sequence[WireReport], *, sent_before: bool = False) -> BatchAnswer:
        """Send up to `batch_reports` reports in one request.

        Where the request had to be repeated, a report that is rejected because it is there already was
        stored by the earlier attempt: it counts as accepted.

        Args:
            sent_before: the caller may have sent the same reports in an earlier request.

        Raises:
            TransportError: the batch as a whole was refused or not delivered.
        """
