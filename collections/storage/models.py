"""Which erasable keys there are, a row to try writing, what machines remember of the database's clock, and
which periodic tasks wait or run.

The keys themselves are outside of the database (key_service.py).
"""

import uuid

from django.db import models


class Database(models.Model):
    """The one row by which this database knows its own keys. It moves with copies of the database.

    A process that is pointed at another database, an empty one for example, finds no key that is its own,
    and erases none.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)

    def __str__(self) -> str:
        return f"database {self.id}"


class ErasableKey(models.Model):
    """That a key is needed. It is stored and deleted together with what is sealed under it, in one
    transaction.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    service = models.CharField(max_length=16, help_text="The kind of key service that has the key.")

    def __str__(self) -> str:
        return f"erasable key {self.id}"


class WriteCheck(models.Model):
    """One row, which `writing` overwrites to check whether the database has space."""

    filler = models.BinaryField()

    def __str__(self) -> str:
        return "write check"


class ClockWitness(models.Model):
    """The database's clock at a certain value of a machine's steady clock."""

    boot = models.CharField(max_length=64, primary_key=True, help_text="The machine, and its start.")
    database_at = models.DateTimeField(help_text="The database's time, when it was last believed.")
    steady_seconds = models.FloatField(help_text="The steady clock at that time.")
    doubted_at = models.DateTimeField(null=True, help_text="The time after a jump that is not believed yet.")
    doubted_steady_seconds = models.FloatField(null=True, help_text="The steady clock at that time.")
    ahead_seconds = models.FloatField(help_text="By which the machine's own clock was before the database's.")
    noted_at = models.DateTimeField(help_text="When this was last written, by the database's clock.")

    def __str__(self) -> str:
        return f"clock of {self.boot}"


class Turns(models.Model):
    """Of what a row stands for: whether a message for it waits, and whether a worker runs (`turns`)."""

    queued = models.UUIDField(null=True, help_text="Which message of it waits.")
    queued_until = models.DateTimeField(
        null=True, help_text="Until when a message of it is believed to wait."
    )
    unanswered = models.PositiveIntegerField(default=0, help_text="Messages since a worker last took one up.")
    running_until = models.DateTimeField(null=True, help_text="Until when a worker is believed to run it.")
    runner = models.UUIDField(null=True, help_text="Which run that is.")

    class Meta:
        abstract = True


class PeriodicRun(Turns):
    """Whether a periodic task waits for a worker, and whether one runs (`periodic`)."""

    name = models.CharField(max_length=100, primary_key=True, help_text="The task's name.")

    def __str__(self) -> str:
        return f"runs of {self.name}"
