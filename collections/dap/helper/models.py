"""What only the helper keeps: keys that wait for their recipe, and answers that it gave."""

from django.db import models

from dap.models import Task


class ShareKey(models.Model):
    """A key pair made for a recipe that is about to be published; moved to the task with it."""

    request = models.BinaryField(max_length=16, unique=True, help_text="Chosen by the leader.")
    scheme = models.CharField(max_length=40)
    public = models.JSONField(help_text="Public key, as in a recipe.")
    sealed = models.BinaryField(help_text="Private key, under the key-encryption key.")
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"share key {bytes(self.request).hex()[:12]}"


class Answer(models.Model):
    """An answer that is the same, byte for byte, however often the same request comes.

    Kept until the task has ended.
    """

    task = models.ForeignKey(Task, models.PROTECT, related_name="+", db_index=False)
    resource_id = models.BinaryField(
        max_length=16, help_text="Chosen by the leader, or beginning of the SHA-256 of task and request."
    )
    digest = models.BinaryField(
        max_length=32, default=b"", help_text="SHA-256 of task and request, if the leader chose."
    )
    answer = models.BinaryField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{type(self).__name__} {bytes(self.resource_id).hex()[:12]} of task {self.task_id}"


class AggregationJob(Answer):
    """A job whose reports were verified and added up: its AggregationJobResp."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=("task", "resource_id"), name="one_answer_per_job"),)


class RoundTask(models.Model):
    """Which task is a round of a recipe in rounds: one, so that no round is asked twice."""

    rounds = models.BinaryField(max_length=32, help_text="SHA-256 of the document of all rounds.")
    number = models.PositiveIntegerField(help_text="Of the round, from 1.")
    task = models.OneToOneField(Task, models.PROTECT, related_name="+")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("rounds", "number"), name="one_task_per_round"),)

    def __str__(self) -> str:
        return f"round {self.number} of {bytes(self.rounds).hex()[:12]}"


class SignedCount(models.Model):
    """The number of reports of a task that we signed: only one, because two would reveal more about the exact
    one.
    """

    task = models.OneToOneField(Task, models.PROTECT, primary_key=True, related_name="+")
    reports = models.PositiveBigIntegerField(help_text="As published, with the leader's noise.")

    def __str__(self) -> str:
        return f"signed count of task {self.task_id}"


class ReleasedShare(Answer):
    """A batch that was collected: its AggregateShare."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=("task", "resource_id"), name="one_answer_per_share"),)
