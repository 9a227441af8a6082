"""How a population and the lines of its book are rendered, in the API and in files."""

from typing import Any

from rest_framework import serializers

from ledger.budget import Rule
from ledger.selectors import Balance
from web.serializers import FiniteField, ObjectField, SecondsField

UNKNOWN = (
    "Null if no ε is promised at this δ, if it could not be computed in time (ask again), or if another "
    " version of the server wrote an event."
)


class PopulationSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="population.name")
    description = serializers.CharField(source="population.description")
    four_eyes = serializers.BooleanField(
        source="population.needs_approval",
        help_text="Whether publishing needs another analyst’s approval: so says the site or the population.",
    )
    attributes = serializers.DictField(
        source="population.attributes",
        child=serializers.ListField(child=serializers.CharField()),
        help_text="By which recipes can choose devices: by name, its values in their order.",
    )
    model = serializers.CharField(help_text="Always aggregator: someone who reads only combined results.")
    relation = serializers.CharField(help_text="Always replace: one device's whole history for another.")
    delta = serializers.FloatField(help_text="δ of every ε here: the budget's, or 1e-6 without a budget.")
    budget = serializers.FloatField(
        source="budget.epsilon", allow_null=True, help_text="ε; null without a budget."
    )
    rule = serializers.ChoiceField(
        source="budget.rule",
        choices=[rule.value for rule in Rule],
        allow_null=True,
        help_text="What may be published: filter (also holds if recipes are chosen by earlier results) or "
        "composed (if they are not); null without a budget.",
    )
    used = FiniteField(
        source="use.share", help_text="Part of the budget that is used, by its rule; above 1 it is exceeded."
    )
    spent = FiniteField(help_text=f"ε of all unreturned recipes together. {UNKNOWN}")
    left = serializers.FloatField(
        allow_null=True,
        help_text="Budget less spent, never below 0; null if either is null, or if a filter holds "
        "the budget.",
    )
    spent_if_half_colludes = FiniteField(
        help_text="The same for a reader with whom half of every cohort colludes."
    )
    recipes = serializers.SerializerMethodField(
        help_text="Number of recipes that spent and were not returned."
    )

    def get_recipes(self, balance: Balance) -> int:
        return len(balance.events)


class SpendingSerializer(serializers.Serializer[Any]):
    at = SecondsField()
    kind = serializers.ChoiceField(
        choices=("spent", "returned"), help_text="Returned: closed with nothing released."
    )
    recipe = serializers.CharField(help_text="Identifier of the recipe.")
    epsilon_alone = FiniteField(source="alone", help_text=f"ε of this recipe alone. {UNKNOWN}")
    epsilon_composed = FiniteField(
        source="composed", help_text=f"ε of all recipes together after this line. {UNKNOWN}"
    )
    delta = serializers.FloatField()
    returned_at = SecondsField(allow_null=True)
    event = ObjectField(help_text="The privacy event, from which every ε is computed.")
    condition = serializers.CharField(
        help_text="What the event relies on, as a clause; empty if it holds as it is."
    )
