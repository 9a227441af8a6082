"""The interface of sending reports, the same for every trust model."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from devices_sim.transport import BatchAnswer, Closable, Delivery, WireReport

BATCH_REPORTS = 1_000
"""Most reports of one batch: what every server takes."""


class Upload(Closable, ABC):
    """The way of one recipe's reports. Not safe to share between threads."""

    batch_reports: ClassVar[int] = BATCH_REPORTS
    """Most reports of one batch."""

    @abstractmethod
    def submit(self, report: WireReport) -> Delivery:
        """Send one report. May be repeated: the nonce makes it count once.

        Raises:
            ReportRejectedError: for good, with the reason.
            RecipeNotOpenError: the recipe takes no reports: not yet, or no longer.
            TransportError: not delivered for another reason.
        """

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
