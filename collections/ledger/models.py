"""Populations with their budgets, and what recipes spent of them."""

from django.conf import settings
from django.db import models

from ledger.budget import Budget, Rule
from panprivacy.recipe.targeting.attributes import Attributes

NAME_LENGTH = 60
DESCRIPTION_LENGTH = 500
CONDITION_LENGTH = 200


class Population(models.Model):
    """Whom several recipes ask, or whose items they count; with the name by which signed recipes call it."""

    name = models.CharField(max_length=NAME_LENGTH, unique=True)
    description = models.CharField(max_length=DESCRIPTION_LENGTH, blank=True)
    epsilon = models.FloatField(null=True, help_text="Of the budget; null if there is none.")
    delta = models.FloatField(null=True, help_text="Of the budget; null if there is none.")
    rule = models.CharField(
        max_length=8,
        default=Rule.FILTER.value,
        choices=[(rule.value, rule.name.lower()) for rule in Rule],
        help_text="What may be published within the budget.",
    )
    four_eyes = models.BooleanField(
        default=False,
        help_text="Publishing for it needs the approval of another analyst, whatever the site says.",
    )
    attributes = models.JSONField(
        default=dict, help_text="What devices know of themselves: by name, its values in their order."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                name="population_budget_is_complete",
                condition=models.Q(epsilon=None, delta=None)
                | models.Q(epsilon__isnull=False, delta__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def needs_approval(self) -> bool:
        """Whether publishing for it needs another analyst: the site or the population requires so."""
        return bool(settings.FOUR_EYES) or self.four_eyes

    @property
    def declared(self) -> Attributes:
        """The attributes by which a recipe can choose devices."""
        return Attributes.from_members(self.attributes)

    @property
    def budget(self) -> Budget | None:
        """What may be spent; None if spending is recorded and nothing is refused."""
        if self.epsilon is None or self.delta is None:
            return None
        return Budget(epsilon=self.epsilon, delta=self.delta, rule=Rule(self.rule))


class Spending(models.Model):
    """One line of a population's book: a recipe spends, or what one spent is returned.

    The database refuses to change or delete it. Within a population, lines are appended one after the
    other (under the population's lock), so the primary key is their order.
    """

    population = models.ForeignKey(Population, models.PROTECT, related_name="spendings")
    # A returning line has none, and under UNIQUE only NULLs differ from each other.
    recipe = models.CharField(  # noqa: DJ001  # see above
        max_length=64,
        null=True,
        unique=True,
        help_text="Identifier of the recipe that spends, or a name for one to come.",
    )
    event = models.JSONField(null=True, help_text="Its privacy event, as data.")
    event_if_half_colludes = models.JSONField(
        null=True, help_text="The same if half of the cohort colludes with the reader."
    )
    returns = models.OneToOneField(
        "self",
        models.PROTECT,
        null=True,
        related_name="returned_by",
        help_text="The line that it takes back.",
    )
    condition = models.CharField(
        max_length=CONDITION_LENGTH,
        blank=True,
        default="",
        help_text="What both events rely on, as a clause; empty if they hold as they are.",
    )
    at = models.DateTimeField()

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                name="spending_spends_or_returns",
                condition=models.Q(
                    recipe__isnull=False,
                    event__isnull=False,
                    event_if_half_colludes__isnull=False,
                    returns=None,
                )
                | models.Q(recipe=None, event=None, event_if_half_colludes=None, returns__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.population_id}: {self.kind} {self.recipe or self.returns_id}"

    @property
    def kind(self) -> str:
        """`spent` or `returned`."""
        return "spent" if self.returns_id is None else "returned"
