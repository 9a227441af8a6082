"""What leader and helper both keep of the tasks they run (DAP draft 18).

The two sides of a task are two rows that share nothing: normally they lie in two databases on two
machines, since a process has one role.

Every change to a task takes its locks in this order, so that no two transactions wait for each other: the
task's row (weakly to add, fully to collect or end), an answer's row, report identifiers in ascending order,
buckets in ascending order of their identifiers, counts of rejections by reason.
"""

from django.db import models

from panprivacy.protocols.dap.dialects import DRAFT_18
from storage.rotating_keys import RotatingKey


class Side(models.TextChoices):
    """The two aggregators."""

    LEADER = "leader", "Leader"
    HELPER = "helper", "Helper"


class HpkeKey(RotatingKey):
    """A key pair of this aggregator, to which clients seal input shares."""


class Task(models.Model):
    """One measurement that two aggregators run together.

    Everything that clients, aggregators and collector must agree on is in `configuration`, which is part of
    the associated data of every sealed share.
    """

    class State(models.TextChoices):
        OPEN = "open", "Takes reports"
        CLOSED = "closed", "Takes no more reports"
        ENDED = "ended", "Ended"

    task_id = models.BinaryField(max_length=32)
    side = models.CharField(max_length=6, choices=Side, help_text="What this process is in the task.")
    state = models.CharField(max_length=6, choices=State, default=State.OPEN)
    configuration = models.BinaryField(help_text="Encoded TaskConfiguration.")
    collector_config = models.BinaryField(help_text="Encoded HpkeConfig of the collector.")
    peer_url = models.CharField(max_length=500, help_text="Base address of the other aggregator.")
    peer_key = models.BinaryField(
        max_length=32, help_text="Its Ed25519 verification key; empty if it bears a token."
    )
    dialect = models.CharField(max_length=10, default=DRAFT_18.name, help_text="How both speak.")
    document = models.TextField(blank=True, help_text="Canonical JSON of the recipe; empty for a plain task.")
    # All are deleted once the task has ended.
    verify_key = models.BinaryField(null=True, help_text="VDAF verification key, sealed.")
    share_key = models.BinaryField(
        null=True, help_text="Private key of pan-private shares, sealed; a plain task has none."
    )
    peer_token = models.BinaryField(
        null=True, help_text="The leader's token for the helper, or the helper's hash of it, sealed."
    )
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(
        max_length=300, blank=True, help_text="Why it ended, or cannot but end, in words."
    )

    class Meta:
        constraints = (models.UniqueConstraint(fields=("task_id", "side"), name="one_task_per_side"),)

    def __str__(self) -> str:
        return f"task {bytes(self.task_id).hex()[:12]} as {self.side}"


class BatchBucket(models.Model):
    """Output shares that were committed together, as their running sum (DAP 18, "Batch Buckets").

    Of an ended task there is one at most, with nothing but the number of all reports.
    """

    task = models.ForeignKey(Task, models.PROTECT, related_name="buckets")
    identifier = models.BinaryField(
        max_length=32, help_text="Encoded Interval, or the 32-byte batch identifier."
    )
    aggregate_share = models.BinaryField(help_text="Encoded; empty once the task has ended.")
    report_count = models.PositiveBigIntegerField(default=0)
    checksum = models.BinaryField(max_length=32, help_text="XOR of the SHA-256 of every report identifier.")
    first_time = models.PositiveBigIntegerField(null=True, help_text="In units of the time precision.")
    last_time = models.PositiveBigIntegerField(null=True)
    collected = models.BooleanField(default=False, help_text="It is complete: nothing is added.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("task", "identifier"), name="one_bucket_per_identifier"),
        )

    def __str__(self) -> str:
        return f"batch bucket of task {self.task_id}"


class CollectedInterval(models.Model):
    """An interval of times that was collected, buckets and gaps between them alike.

    A report whose bucket did not exist at the collection must not open it afterwards: the difference
    of two results would be about that report alone.
    """

    task = models.ForeignKey(Task, models.PROTECT, related_name="collected_intervals")
    start = models.PositiveBigIntegerField(help_text="First time, in units of the time precision.")
    end = models.PositiveBigIntegerField(help_text="First time after it.")

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="interval_is_not_empty", condition=models.Q(start__lt=models.F("end"))
            ),
            models.UniqueConstraint(fields=("task", "start"), name="one_collection_per_start"),
        )

    def __str__(self) -> str:
        return f"{self.start} to {self.end} of task {self.task_id}"


class AggregatedReport(models.Model):
    """A report identifier that has been used: the reason why a report counts once.

    Kept until the task has ended.
    """

    pk = models.CompositePrimaryKey("task_id", "report_id")
    task = models.ForeignKey(Task, models.PROTECT, related_name="+", db_index=False)
    report_id = models.BinaryField(max_length=16)

    def __str__(self) -> str:
        return f"report of task {self.task_id}"


class ReportRejection(models.Model):
    """How many reports of a task one side rejected for one reason (a name of DAP's ReportError)."""

    task = models.ForeignKey(Task, models.PROTECT, related_name="rejections")
    side = models.CharField(max_length=6, choices=Side, help_text="Who rejected them.")
    reason = models.CharField(max_length=40)
    count = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("task", "side", "reason"), name="one_count_per_side_and_reason"),
        )

    def __str__(self) -> str:
        return f"{self.side}, {self.reason}: {self.count}"
