"""Recipes: draft → published → closed."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import models

from panprivacy.accounting.trust import Trust
from panprivacy.formats.canonical_json import canonical_json
from panprivacy.recipe.document import PublishedRecipe, recipe_of
from panprivacy.statistics.trust_models import trust_named
from recipes.errors import UnreadableRecipeError
from storage.models import Turns
from web.strict_json import JSONRefusedError, json_of

NOTE_LENGTH = 300

TAG_LENGTH = 40
MOST_TAGS = 10
"""Of one recipe."""

APPROVAL_VALID = timedelta(days=7)
"""For which something can be published after it was approved."""


def content_hash(document: Mapping[str, object]) -> str:
    """SHA-256 of a document's canonical JSON (RFC 8785), in 64 digits."""
    return hashlib.sha256(canonical_json(document)).hexdigest()


UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading a stored document may raise: it may be no object, or nested beyond what can be read."""


def name_beyond(name: str, question: str) -> str:
    """What is left of a name without the question, or its beginning up to " …", with which it begins."""
    beginning, cut, rest = name.partition(" …")
    if not (cut and question.startswith(beginning)):
        rest = name.removeprefix(question)
    return rest.removeprefix(",").strip()


class Recipe(models.Model):
    """A question put to devices. Once published, the database refuses every change but closing."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        PUBLISHED = "published", "Published"
        CLOSED = "closed", "Closed"

    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT)
    # A draft has none, and under UNIQUE only NULLs differ from each other.
    identifier = models.CharField(  # noqa: DJ001  # see above
        max_length=64,
        null=True,
        unique=True,
        editable=False,
        help_text="SHA-256 of the canonical document.",
    )
    name = models.CharField(max_length=120)
    question = models.CharField(max_length=500)
    statistic = models.CharField(max_length=40)
    cohort_size = models.PositiveBigIntegerField()
    # Both are in the draft too, which has no index for them.
    population = models.CharField(max_length=60, default="", editable=False)
    event = models.CharField(
        max_length=500,
        blank=True,
        default="",
        editable=False,
        help_text="Names of its events with commas between; empty if none is named.",
    )
    draft = models.JSONField(help_text="What the analyst entered, as in a recipe file.")
    repetition = models.JSONField(
        default=dict,
        editable=False,
        help_text="How often a draft is meant to be asked, as in the file of a series; empty: once.",
    )
    document = models.TextField(blank=True, help_text="Canonical JSON (RFC 8785).")
    signature = models.BinaryField(default=bytes, help_text="Ed25519, 64 bytes.")
    opens_at = models.DateTimeField(null=True)
    closes_at = models.DateTimeField(null=True)
    simulation = models.BooleanField(default=False, help_text="Reports come from simulated devices.")
    device_key = models.CharField(
        max_length=64,
        blank=True,
        default="",
        editable=False,
        help_text="What simulated devices of a private simulation show; empty of all others.",
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    editors = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="+", help_text="Who wrote any of the draft."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    published_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)
        permissions = (("publish_recipe", "Can publish and close recipes"),)
        indexes = (
            models.Index(fields=("status", "closes_at")),
            models.Index(fields=("population", "id"), name="recipe_of_population"),
        )
        constraints = (
            models.CheckConstraint(
                name="recipe_published_is_complete",
                condition=models.Q(status="draft", identifier=None)
                | (
                    ~models.Q(status="draft")
                    & models.Q(identifier__isnull=False, published_at__isnull=False, closes_at__isnull=False)
                ),
            ),
            models.CheckConstraint(
                name="recipe_private_is_simulated",
                condition=models.Q(device_key="") | models.Q(status="draft") | models.Q(simulation=True),
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def private(self) -> bool:
        """Whether it is a simulation that only analysts of this site see, and that can be deleted."""
        return self.device_key != ""

    @property
    def event_names(self) -> list[str]:
        """Names of its events; empty if none is named."""
        return self.event.split(", ") if self.event else []

    @property
    def short_name(self) -> str:
        """What the name says beyond the question; empty if it only repeats it."""
        return name_beyond(self.name, self.question)

    @property
    def draft_hash(self) -> str:
        """SHA-256 of the draft's canonical JSON, in 64 digits: it identifies what a reviewer saw."""
        return content_hash(self.draft)

    @property
    def open_or_closed(self) -> str:
        """The status of a published recipe, as devices see it."""
        return "open" if self.status == self.Status.PUBLISHED else "closed"

    def accepts_reports(self, now: datetime) -> bool:
        """Whether a report is accepted at `now`. A simulation is not bound by its times."""
        if self.status != self.Status.PUBLISHED:
            return False
        if self.simulation:
            return True
        return (
            self.opens_at is not None and self.closes_at is not None and self.opens_at <= now < self.closes_at
        )

    @property
    def stated_document(self) -> Any:
        """The document as it was signed, also if it cannot be read here; its text if that is no JSON."""
        try:
            return json_of(self.document.encode())
        except JSONRefusedError:
            return self.document

    @cached_property
    def signatures_of_partners(self) -> dict[str, bytes]:
        """Partner → its signature of a published recipe."""
        return {row.partner: bytes(row.signature) for row in self.partner_signatures.all()}

    @property
    def published(self) -> PublishedRecipe:
        """The document as published, parsed (cached: it never changes).

        Raises:
            UnreadableRecipeError: it cannot be read here. Lists ask `unreadable` first, so that one row does
                not take the others along.
        """
        try:
            return recipe_of(self.document)
        except UNREADABLE as error:
            raise UnreadableRecipeError(
                f"the document of recipe {self.identifier} cannot be read: {error}"
            ) from error

    @property
    def unreadable(self) -> str:
        """Why the document cannot be read here, as a sentence without its full stop; empty if it can."""
        try:
            _ = self.published
        except UnreadableRecipeError as error:
            return str(error)
        return ""

    @cached_property
    def trust(self) -> Trust:
        """The trust model that the document names, also of one that cannot be read as a whole.

        Raises:
            UnreadableRecipeError: it names none that is known here.
        """
        try:
            return trust_named(json.loads(self.document).get("trust"))
        except UNREADABLE as error:
            raise UnreadableRecipeError(
                f"the document of recipe {self.identifier} names no trust model: {error}"
            ) from error


class NextStep(Turns):
    """When an unfinished recipe is to be brought on next, and whether that waits or runs (`steps`).

    The row exists from publication until the result is released or withheld.
    """

    recipe = models.OneToOneField(Recipe, models.PROTECT, primary_key=True, related_name="next_step")
    due_at = models.DateTimeField(db_index=True, help_text="By the database's clock.")
    failures = models.PositiveIntegerField(default=0, help_text="Steps that failed one after the other.")

    def __str__(self) -> str:
        return f"next step of {self.recipe_id}"


class RecipeGuarantees(models.Model):
    """Every guarantee of a recipe and what else pages show of it, as computed when it was published: some
    numbers take seconds to compute."""

    recipe = models.OneToOneField(Recipe, models.PROTECT, related_name="guarantees")
    stated = models.JSONField(help_text="A list of `Guarantee.as_dict()`.")
    numbers = models.JSONField(help_text="`RecipeNumbers.as_dict()`.")

    def __str__(self) -> str:
        return f"guarantees of {self.recipe_id}"


class RecipeKey(models.Model):
    """The private key of a recipe, sealed.

    Deleted once the result is released or withheld, and with it the erasable key under which it is sealed:
    nothing that a device ever kept can be decrypted from then on.
    """

    recipe = models.OneToOneField(Recipe, models.PROTECT, related_name="key")
    scheme = models.CharField(max_length=40)
    sealed = models.BinaryField()

    def __str__(self) -> str:
        return f"key of {self.recipe_id}"


class PartnerSignature(models.Model):
    """That another server takes part in a recipe. The database refuses to change it."""

    class Partner(models.TextChoices):
        HELPER = "helper", "Helper"
        SHUFFLER = "shuffler", "Shuffler"
        ISSUER = "issuer", "Issuer of tokens"

    recipe = models.ForeignKey(Recipe, models.PROTECT, related_name="partner_signatures")
    partner = models.CharField(max_length=10, choices=Partner)
    signature = models.BinaryField(help_text="Ed25519 over what this site signs too, 64 bytes.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("recipe", "partner"), name="one_signature_per_partner"),
        )

    def __str__(self) -> str:
        return f"{self.partner}'s signature of {self.recipe_id}"


class AskedAgain(models.Model):
    """That a recipe was made from the draft form of another one. It only records where a draft comes from:
    nothing that is computed or signed depends on it."""

    recipe = models.OneToOneField(Recipe, models.CASCADE, related_name="asked_again")
    origin = models.ForeignKey(Recipe, models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return f"{self.recipe_id} asks {self.origin_id} again"


class NamedEvent(models.Model):
    """One event of a recipe or a draft, by whose name it is found."""

    recipe = models.ForeignKey(Recipe, models.CASCADE, related_name="named_events")
    name = models.CharField(max_length=60)

    class Meta:
        indexes = (models.Index(fields=("name", "recipe"), name="recipe_of_event"),)
        constraints = (models.UniqueConstraint(fields=("recipe", "name"), name="event_of_recipe_once"),)

    def __str__(self) -> str:
        return self.name


class Tag(models.Model):
    """A word under which accounts of this site find a recipe or a draft. It is in no document and in no entry
    of the log, can be changed at any time, and is shown to signed-in accounts only."""

    recipe = models.ForeignKey(Recipe, models.CASCADE, related_name="tags")
    name = models.CharField(max_length=TAG_LENGTH, db_index=True)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=("recipe", "name"), name="tag_of_recipe_once"),)

    def __str__(self) -> str:
        return self.name


LIVE = ("asked", "approved")
"""States of an approval that may still lead to a publication."""


class Approval(models.Model):
    """That one analyst asked another to approve of exactly this content, and what came of it.

    Of a draft of a recipe, or of a series, which is kept nowhere else until it is published.
    """

    class State(models.TextChoices):
        ASKED = "asked", "Waiting"
        APPROVED = "approved", "Approved"
        DECLINED = "declined", "Declined"
        VOID = "void", "Void"
        USED = "used", "Published"

    recipe = models.ForeignKey(Recipe, models.CASCADE, null=True, related_name="approvals")
    document = models.JSONField(help_text="What is to be published, as in a recipe file.")
    content = models.CharField(max_length=64, help_text="SHA-256 of the document.")
    universe = models.CharField(
        max_length=64,
        blank=True,
        default="",
        help_text="SHA-256 of the items that publishing lists; empty if it lists none.",
    )
    state = models.CharField(max_length=10, choices=State, default=State.ASKED)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    note = models.CharField(max_length=NOTE_LENGTH, blank=True, help_text="Of who decided.")

    class Meta:
        ordering = ("-pk",)
        indexes = (models.Index(fields=("state", "content")),)
        constraints = (
            models.UniqueConstraint(
                name="approval_one_at_a_time",
                fields=("recipe",),
                condition=models.Q(state__in=LIVE),
            ),
            models.CheckConstraint(
                name="approval_decided_by_another",
                condition=models.Q(decided_by=None) | ~models.Q(decided_by=models.F("asked_by")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.subject}: {self.get_state_display()}"

    @property
    def subject(self) -> str:
        """What the log calls it."""
        return f"draft {self.recipe_id}" if self.recipe_id else f"proposal {self.pk}"

    @property
    def expires_at(self) -> datetime | None:
        """Until when it can be published; None if it is not approved."""
        if self.state != self.State.APPROVED or self.decided_at is None:
            return None
        return self.decided_at + APPROVAL_VALID
