"""How far the analyzer is with the batch of each recipe of a shuffler."""

from django.db import models

from recipes.models import Recipe


class BatchFetch(models.Model):
    """The batch of one recipe on its way here. The messages themselves become stored reports.

    `send_after` is also a lease: who takes the row up moves it on, so that no other worker asks for the
    same at the same time. Should two do so all the same, nothing breaks.
    """

    class State(models.TextChoices):
        ASKING = "asking", "Waiting for all users"
        FETCHING = "fetching", "Fetching"
        FETCHED = "fetched", "Fetched"
        NOT_FULL = "not_full", "Closed before all users came"
        REFUSED = "refused", "Refused"

    recipe = models.OneToOneField(Recipe, models.PROTECT, primary_key=True, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.ASKING)
    received = models.PositiveBigIntegerField(
        default=0, help_text="Users who have come, in coarse steps, as the shuffler tells."
    )
    messages = models.PositiveBigIntegerField(default=0, help_text="In the batch, as the shuffler tells.")
    rejected = models.JSONField(default=dict, help_text="Users refused for their token, by reason.")
    parts = models.PositiveIntegerField(default=0)
    count_signature = models.BinaryField(
        max_length=64, null=True, help_text="Of the number of users, by the shuffler; as it came."
    )
    fetched = models.PositiveIntegerField(default=0, help_text="Parts that are stored, the first ones.")
    stored = models.PositiveBigIntegerField(default=0, help_text="Messages in them.")
    refusal = models.CharField(max_length=300, blank=True, help_text="Why there will be no batch: a clause.")
    deletion_reason = models.CharField(
        max_length=200,
        blank=True,
        db_column="farewell",
        help_text="Why the shuffler is to delete it; empty while it is not.",
    )
    is_deleted_there = models.BooleanField(default=False, help_text="It has acknowledged that it did.")
    asked_closed = models.BooleanField(
        default=False, help_text="Whether it is asked without waiting, because the recipe was closed."
    )
    send_after = models.DateTimeField(db_index=True)
    attempts = models.PositiveIntegerField(default=0, help_text="That failed, one after the other.")
    failing_since = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=300, blank=True)

    class Meta:
        db_table = "analyzer_intake"

    def __str__(self) -> str:
        return f"batch of recipe {self.recipe_id}"
