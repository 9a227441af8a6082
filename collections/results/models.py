"""What came out of a recipe: once, for good."""

from django.db import models

from recipes.models import Recipe

NUMBERS = ("values", "standard_errors", "projection", "error_bounds", "intervals")
"""The columns of a release with numbers for each estimate."""


class Release(models.Model):
    """The one outcome of a closed recipe. The database refuses to change or delete it."""

    class Outcome(models.TextChoices):
        RELEASED = "released", "Released"
        WITHHELD = "withheld", "Withheld"

    class Cause(models.TextChoices):
        """Why nothing was released, for programs; `reason` has the words."""

        TOO_FEW = "too_few", "Too few reports for the cohort size"
        REFUSED = "refused", "No sum can be had"
        GIVEN_UP = "given_up", "Given up by an analyst or operator"
        INCOMPUTABLE = "incomputable", "No estimate can be computed"

    recipe = models.OneToOneField(Recipe, models.PROTECT, related_name="release")
    outcome = models.CharField(max_length=10, choices=Outcome)
    cause = models.CharField(
        max_length=12,
        choices=Cause,
        blank=True,
        help_text="Kind of withholding; empty if released.",
    )
    reason = models.CharField(max_length=300, blank=True, help_text="Why nothing was released.")
    reports = models.PositiveBigIntegerField(
        null=True, help_text="Valid reports in the sum; unknown to everyone if nothing was released."
    )
    rejected = models.JSONField(default=dict, help_text="Reason → number of reports, at all servers.")
    servers = models.JSONField(
        null=True, help_text="What of each server is public; none if the recipe cannot be read."
    )
    values = models.JSONField(default=list, help_text="Unbiased estimates.")
    standard_errors = models.JSONField(default=list)
    standard_error_note = models.CharField(max_length=300, blank=True)
    projection = models.JSONField(default=list, help_text="The closest valid answer.")
    error_bounds = models.JSONField(
        null=True,
        help_text="Within which all values lie of the truth at `confidence`; none if not stated.",
    )
    confidence = models.FloatField(null=True, help_text="Of the error bounds together.")
    intervals = models.JSONField(
        default=list, help_text="Each of all values together, with its `level`; the widest first."
    )
    details = models.JSONField(null=True, help_text="What else the statistic says; none if nothing.")
    segments = models.JSONField(
        null=True, help_text="What is released of each segment; none if the recipe has no segments."
    )
    excerpt = models.JSONField(
        null=True, help_text="What pages show of all these numbers; none if nothing was released."
    )
    admission = models.JSONField(
        null=True, help_text="Reports against tokens; none if any sender may report, or nothing was released."
    )
    guarantees = models.JSONField(default=list, help_text="Every guarantee, as stated at release.")
    software = models.CharField(max_length=60)
    released_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.get_outcome_display()}: {self.recipe}"


class SignedResult(models.Model):
    """The document of a release as the site signed it. The database refuses to change or delete it."""

    release = models.OneToOneField(Release, models.PROTECT, related_name="signed")
    document = models.TextField(help_text="Canonical JSON (RFC 8785).")
    signature = models.BinaryField(max_length=64)

    def __str__(self) -> str:
        return f"signed: {self.release}"


class HeldResult(models.Model):
    """A result with more reports than its tokens explain: it waits for an administrator's decision.

    The number of reports is not here: until it is published, nothing finer is shown than for an open recipe.
    """

    recipe = models.OneToOneField(Recipe, models.PROTECT, related_name="held")
    issued = models.PositiveBigIntegerField(help_text="Tokens, as the issuer signed.")
    expected = models.FloatField(help_text="Expected number of reports.")
    most = models.PositiveBigIntegerField(help_text="Upper end of the interval for it.")
    held_at = models.DateTimeField()
    allowed_at = models.DateTimeField(
        null=True, help_text="When an administrator let it pass; none while it waits."
    )
    allowed_reason = models.CharField(max_length=200, blank=True, help_text="Why; public.")

    def __str__(self) -> str:
        return f"held: {self.recipe}"


class SimulatedTruth(models.Model):
    """What a simulation knows and no real collection does: the exact answer."""

    recipe = models.OneToOneField(Recipe, models.PROTECT, related_name="truth")
    values = models.JSONField()
    segments = models.JSONField(null=True, help_text="Of each segment; none if the recipe has no segments.")
    devices = models.PositiveBigIntegerField()
    sampled = models.PositiveBigIntegerField()

    def __str__(self) -> str:
        return f"truth of {self.recipe}"
