"""What only the leader keeps: uploads, requests to the helper under way, collections.

Every request to the helper is stored here, byte for byte, before it is sent for the first time. Whatever is
lost, doubled or killed, the same bytes are sent again until the helper has answered.
"""

import uuid

from django.db import models
from django.db.models import Q

from dap.models import Task


class Collector(models.Model):
    """The collector of a task's results: this process itself, or an external collector."""

    task = models.OneToOneField(Task, models.PROTECT, primary_key=True, related_name="collector")
    hpke_key = models.BinaryField(
        null=True, help_text="HPKE private key, sealed, if this process is the collector."
    )
    verification_key = models.BinaryField(
        max_length=32, null=True, help_text="Ed25519 key of a collector elsewhere, who signs its requests."
    )
    token = models.BinaryField(
        null=True, help_text="Hash of the token that a collector elsewhere bears instead, sealed."
    )
    collects_on_close = models.BooleanField(
        default=False, help_text="Collected by itself, once, when it takes no more reports."
    )

    def __str__(self) -> str:
        return f"collector of task {self.task_id}"


class Registration(models.Model):
    """A task that the helper was asked to take part in. Deleted in the transaction that begins it here.

    A row that stays belongs to a registration that failed or crashed.
    """

    task_id = models.BinaryField(max_length=32, unique=True)
    helper_url = models.CharField(max_length=500)
    helper_key = models.BinaryField(max_length=32, help_text="The helper's Ed25519 verification key.")
    leader_url = models.CharField(max_length=500, help_text="Our own base address, as it was told.")
    created_at = models.DateTimeField()
    abandoned_at = models.DateTimeField(null=True, help_text="From when on it can be begun no more.")

    def __str__(self) -> str:
        return f"registration of task {bytes(self.task_id).hex()[:12]}"


class Uploads(models.Model):
    """Reports that arrived together, as they came: encoded, one after the other.

    No address, user agent or time of arrival is kept. The row is deleted when the job that took it in is
    done.
    """

    task = models.ForeignKey(Task, models.PROTECT, related_name="+")
    job = models.UUIDField(null=True, db_index=True, help_text="The aggregation job that takes them in.")
    count = models.PositiveIntegerField()
    size = models.PositiveIntegerField(help_text="Bytes of `payload`.")
    first_time = models.PositiveBigIntegerField(help_text="In units of the time precision.")
    last_time = models.PositiveBigIntegerField()
    not_before = models.DateTimeField(null=True, help_text="Not planned earlier: they came too early.")
    config_ids = models.BinaryField(
        max_length=256, help_text="HPKE configurations to which they are sealed for us, a byte each."
    )
    payload = models.BinaryField()

    class Meta:
        indexes = (models.Index(fields=("task", "job")),)

    def __str__(self) -> str:
        return f"uploads {self.pk} of task {self.task_id}"


class Exchange(models.Model):
    """A request to the helper that is repeated until it is answered for good.

    `send_after` is also a lease: who takes the request up moves it on, so that no other worker sends
    the same at the same time. Should two do so all the same, nothing breaks.
    """

    send_after = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0, help_text="That failed, one after the other.")
    waiting_since = models.DateTimeField(
        null=True, help_text="When the helper first promised its answer for later."
    )
    failing_since = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=300, blank=True)
    location = models.CharField(
        max_length=500, blank=True, help_text="Where the helper's answer will be, if it answers later."
    )

    class Meta:
        abstract = True


class AggregationJob(Exchange):
    """Reports that both servers verify together. The row exists until they are counted.

    A worker that finds no row has nothing to do: that is what makes an answer that comes twice, or late,
    harmless.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    task = models.ForeignKey(Task, models.PROTECT, related_name="+")
    batch_id = models.BinaryField(max_length=32, null=True, help_text="Of the leader-selected batch mode.")
    count = models.PositiveIntegerField(help_text="Reports taken in; once prepared, reports in the request.")
    first_time = models.PositiveBigIntegerField()
    last_time = models.PositiveBigIntegerField()
    # Both are there once the job is prepared.
    request = models.BinaryField(null=True, help_text="Encoded AggregationJobInitReq, as it is sent.")
    states = models.BinaryField(null=True, help_text="The leader's state of every report of the request.")

    class Meta:
        indexes = (models.Index(fields=("send_after",)),)

    def __str__(self) -> str:
        return f"aggregation job {self.pk}"


class Planning(models.Model):
    """How the uploads of a task are put into aggregation jobs."""

    task = models.OneToOneField(Task, models.PROTECT, primary_key=True, related_name="+")
    planned_at = models.DateTimeField(help_text="When all that waited was put into jobs.")
    batch_id = models.BinaryField(
        max_length=32, null=True, help_text="The batch to which jobs add now (leader-selected mode)."
    )

    def __str__(self) -> str:
        return f"planning of task {self.task_id}"


class CollectionJob(Exchange):
    """One query of the collector: from a batch that fills to both encrypted aggregate shares."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waits for reports"
        ASKING = "asking", "Asks the helper for its share"
        READY = "ready", "Ready"
        FAILED = "failed", "Refused"
        DELETED = "deleted", "Deleted by the collector"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    task = models.ForeignKey(Task, models.PROTECT, related_name="collection_jobs")
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    request = models.BinaryField(help_text="Encoded CollectionJobReq.")
    digest = models.BinaryField(
        max_length=32, help_text="SHA-256 of `request`, and the identifier if the collector chose one."
    )
    # The batch. In the leader-selected mode it is known once there is one that is large enough.
    start = models.PositiveBigIntegerField(null=True, help_text="In units of the time precision.")
    end = models.PositiveBigIntegerField(null=True, help_text="First time after it.")
    batch_id = models.BinaryField(max_length=32, null=True)
    uploads_until = models.PositiveBigIntegerField(
        default=0, help_text="Uploads up to this key are waited for, while the task takes more."
    )
    # There since the batch was taken; nothing is added to it any more.
    share_request = models.BinaryField(null=True, help_text="Encoded AggregateShareReq, as it is sent.")
    leader_share = models.BinaryField(null=True, help_text="HpkeCiphertext to the collector.")
    report_count = models.PositiveBigIntegerField(null=True)
    first_time = models.PositiveBigIntegerField(null=True)
    span = models.PositiveBigIntegerField(null=True, help_text="Of the times of its reports.")
    # The end: one or the other.
    response = models.BinaryField(null=True, help_text="Encoded CollectionJobResp.")
    problem = models.CharField(max_length=40, blank=True, help_text="A DAP error, e.g. invalidBatchSize.")
    detail = models.CharField(max_length=300, blank=True, help_text="In words.")

    class Meta:
        indexes = (models.Index(fields=("state", "send_after")),)
        constraints = (
            models.UniqueConstraint(
                fields=("task", "digest"),
                condition=~Q(state="deleted"),
                name="one_collection_job_per_request",
            ),
        )

    def __str__(self) -> str:
        return f"collection job of task {self.task_id}: {self.state}"


class EndNotice(Exchange):
    """That a task has ended, and why: sent to the helper until it has acknowledged it."""

    task = models.OneToOneField(Task, models.PROTECT, primary_key=True, related_name="+")
    reason = models.CharField(max_length=300)

    class Meta:
        db_table = "leader_farewell"

    def __str__(self) -> str:
        return f"end notice of task {self.task_id}"


class CountNoise(models.Model):
    """What is added to the number of valid reports of a task wherever it is shown, and how many it needs
    beyond the smallest batch.

    Drawn once, and kept: two draws would reveal more than one.
    """

    task = models.OneToOneField(Task, models.PROTECT, primary_key=True, related_name="+")
    noise = models.BigIntegerField()
    margin = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"noise on counts of task {self.task_id}"


class HelperCount(models.Model):
    """The helper's own number of reports in the sum, requested when its share of the one batch had arrived.

    Stays when the task has ended, as all counts do. There is none if the helper was not asked, or did not
    answer.
    """

    task = models.OneToOneField(Task, models.PROTECT, primary_key=True, related_name="+")
    report_count = models.PositiveBigIntegerField()
    signature = models.BinaryField(
        max_length=64, null=True, help_text="Of the number that is published, by the helper; as it came."
    )

    def __str__(self) -> str:
        return f"helper's count of task {self.task_id}"
