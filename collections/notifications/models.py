"""Subscriptions, rules, their events, and the outcome of each delivery."""

import uuid

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models

from notifications.kinds import KINDS, Kind
from recipes.models import Recipe
from results.models import Release
from series.models import Series

TARGET_LENGTH = 500
UNIT_LENGTH = 100


class Subscription(models.Model):
    """One receiver of an account: a webhook, or the account's address for e-mail. The site's own, the
    collector of `settings.OTLP_ENDPOINT`, has no account."""

    class Channel(models.TextChoices):
        WEBHOOK = "webhook", "Webhook"
        EMAIL = "email", "E-mail"
        OTLP = "otlp", "OpenTelemetry"

    identifier = models.CharField(max_length=16, unique=True, help_text="Random, in hexadecimal digits.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="subscriptions"
    )
    channel = models.CharField(max_length=10, choices=Channel)
    target = models.CharField(max_length=TARGET_LENGTH, help_text="Address of the receiver.")
    events = models.JSONField(help_text="Names of the types of events to notify about.")
    sealed = models.BinaryField(help_text="Its secret, sealed: signs webhooks, and links in mails.")
    sealed_before = models.BinaryField(null=True, help_text="The secret before, sealed.")
    before_until = models.DateTimeField(null=True, help_text="Until when the secret before signs too.")
    created_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True, help_text="When it was confirmed; no message before.")
    failing_since = models.DateTimeField(null=True, help_text="First failure since the last success.")
    disabled_at = models.DateTimeField(null=True, help_text="When it was switched off; no message since.")

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("user",), condition=models.Q(channel="email"), name="one_mail_subscription"
            ),
            models.UniqueConstraint(
                fields=("channel",), condition=models.Q(channel="otlp"), name="one_otlp_subscription"
            ),
            models.CheckConstraint(
                name="only_otlp_has_no_user",
                condition=models.Q(channel="otlp", user=None)
                | (~models.Q(channel="otlp") & models.Q(user__isnull=False)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.channel} {self.identifier}"

    @property
    def account(self) -> User:
        """Raises ValueError if it is the site's own."""
        if self.user is None:
            raise ValueError(f"{self} belongs to no account")
        return self.user

    @property
    def titles(self) -> list[str]:
        """The events that it is notified of, in words."""
        return [KINDS[name].title for name in self.events if name in KINDS]


class Rule(models.Model):
    """When an account wants to know of a result: of one recipe, or of the rounds of a series."""

    class When(models.TextChoices):
        ABOVE = "above", "Above a value"
        BELOW = "below", "Below a value, or below the cohort"
        CHANGED = "changed", "Changed by more than noise"

    identifier = models.CharField(
        max_length=32, unique=True, help_text="Random, in hexadecimal digits: the address of its feed."
    )
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="rules")
    series = models.ForeignKey(Series, models.CASCADE, null=True, related_name="rules")
    recipe = models.ForeignKey(Recipe, models.CASCADE, null=True, related_name="rules")
    when = models.CharField(max_length=10, choices=When)
    value = models.FloatField(null=True, help_text="A share from 0 to 1, or in the unit.")
    unit = models.CharField(
        max_length=UNIT_LENGTH, blank=True, help_text="Of the estimates that it compares; empty for shares."
    )
    watched = models.JSONField(help_text="Labels of segments; an empty one for all devices.")
    over_rounds = models.PositiveIntegerField(help_text="For which its false alarm rate holds.")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                name="rule_of_series_or_recipe",
                condition=models.Q(series=None, recipe__isnull=False)
                | models.Q(series__isnull=False, recipe=None),
            ),
        )

    def __str__(self) -> str:
        return f"rule {self.identifier[:8]}: {self.when}"

    @property
    def is_of_cohort(self) -> bool:
        """Whether it fires if too few devices reported, whatever they reported."""
        return self.when == self.When.BELOW and self.value is None

    @property
    def segment(self) -> str | None:
        """Label of the one that it watches; None if it watches all devices."""
        return self.watched[0] or None if len(self.watched) == 1 else None


class Check(models.Model):
    """One result that a rule waits for, or has compared: a firing if its state is `fired`."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        QUIET = "quiet", "Did not fire"
        FIRED = "fired", "Fired"
        UNKNOWN = "unknown", "Has nothing to compare"
        FAILED = "failed", "Could not be compared"

    rule = models.ForeignKey(Rule, models.CASCADE, related_name="checks")
    recipe = models.ForeignKey(Recipe, models.CASCADE, related_name="+")
    at = models.DateTimeField(help_text="When the recipe ended.")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    segments = models.JSONField(default=list, help_text="Of those watched, which fired.")
    decided_at = models.DateTimeField(null=True, help_text="When it was compared; empty while it waits.")

    class Meta:
        ordering = ("-pk",)
        indexes = (models.Index(fields=("state",)),)
        constraints = (models.UniqueConstraint(fields=("rule", "recipe"), name="result_checked_once"),)

    def __str__(self) -> str:
        return f"{self.rule}, {self.recipe_id}: {self.state}"


class Event(models.Model):
    """One thing that happened. It has no number: a notification cannot reveal anything finer than
    its page."""

    key = models.CharField(max_length=300, unique=True, help_text="Its subject: one notification for each.")
    kind = models.CharField(max_length=40)
    at = models.DateTimeField()
    subject = models.CharField(max_length=200, help_text="Recipe's or series' identifier, population's name.")
    name = models.CharField(max_length=200)
    rule = models.ForeignKey(
        Rule, models.CASCADE, null=True, related_name="+", help_text="The one that fired, for its account."
    )

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"

    @property
    def its_kind(self) -> Kind:
        return KINDS[self.kind]


class Delivery(models.Model):
    """One message to one receiver: stored with its event, sent until it arrived or its time is over."""

    class Purpose(models.TextChoices):
        EVENT = "event", "Event"
        RESULT = "result", "Result"
        TEST = "test", "Test"
        CONFIRM = "confirm", "Confirmation of the address"

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DELIVERED = "delivered", "Delivered"
        FAILED = "failed", "Failed"

    message = models.UUIDField(default=uuid.uuid4, unique=True, help_text="The same at every attempt.")
    subscription = models.ForeignKey(Subscription, models.CASCADE, related_name="deliveries")
    purpose = models.CharField(max_length=10, choices=Purpose, default=Purpose.EVENT)
    event = models.ForeignKey(Event, models.CASCADE, null=True, related_name="deliveries")
    release = models.ForeignKey(Release, models.CASCADE, null=True, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    created_at = models.DateTimeField()
    give_up_at = models.DateTimeField()
    attempts_made = models.PositiveIntegerField(default=0, help_text="Since it was sent anew.")
    next_attempt_at = models.DateTimeField(help_text="While it is queued: when its task is taken for lost.")
    queued = models.BooleanField(default=False)

    class Meta:
        ordering = ("-pk",)
        verbose_name_plural = "deliveries"
        indexes = (
            models.Index(fields=("state", "next_attempt_at")),
            models.Index(fields=("state", "created_at")),
        )
        constraints = (
            models.UniqueConstraint(fields=("event", "subscription"), name="event_once_per_subscription"),
            models.UniqueConstraint(fields=("release", "subscription"), name="result_once_per_subscription"),
            models.CheckConstraint(
                name="delivery_of_event_has_one",
                condition=models.Q(purpose="event", event__isnull=False)
                | (~models.Q(purpose="event") & models.Q(event=None)),
            ),
            models.CheckConstraint(
                name="delivery_of_result_has_one",
                condition=models.Q(purpose="result", release__isnull=False)
                | (~models.Q(purpose="result") & models.Q(release=None)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.message_id}, {self.state}"

    @property
    def waits_after_failure(self) -> bool:
        """Whether an attempt failed, and the next one has its time."""
        return self.state == self.State.WAITING and not self.queued and self.attempts_made > 0

    @property
    def message_id(self) -> str:
        """As receivers know it: a repeated one is the same message."""
        return f"msg_{self.message.hex}"


class Attempt(models.Model):
    """One attempt to deliver: when, and what came of it. Never the receiver's answer."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="attempts")
    at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True, help_text="Of HTTP; none without an answer.")
    problem = models.CharField(max_length=100, blank=True, help_text="Why it failed; empty if it arrived.")

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.status or ''} {self.problem}"


class Watched(models.Model):
    """How far the outbox has read the log: one row."""

    log_index = models.BigIntegerField(help_text="Of the last entry that was looked at.")

    def __str__(self) -> str:
        return f"log up to {self.log_index}"


class NearlySpent(models.Model):
    """A population whose budget was found nearly spent. The row is deleted when enough of the budget is left
    again.
    """

    population = models.OneToOneField("ledger.Population", models.CASCADE, related_name="+")
    told = models.UUIDField(default=uuid.uuid4, help_text="Tells this time from the next one.")

    def __str__(self) -> str:
        return f"budget of {self.population_id} nearly spent"
