"""Populations with attributes, released results that count them, and recipes that rest on those."""

from collections.abc import Mapping, Sequence
from typing import Any

from ledger.budget import Budget
from ledger.operations import population_change
from ledger.selectors import population_named
from panprivacy.protocols.signed_count import IssuedTokens
from panprivacy.recipe.targeting.attributes import Attributes
from publishing.publication import recipe_close, recipe_publish_file
from recipes.models import Recipe
from results.aggregation.models import SubAggregate
from results.operations import result_release, result_withhold
from tests.collections.tokens.admission.scene import FakeIssuer
from tests.factories import recipe_members
from tests.panprivacy.recipe.targeting.results import members_of
from tests.tokens import ISSUER_KEY
from tokens.admission.models import Issuance

DECLARED = {"os": ["linux", "mac", "other"], "region": ["eu", "us"]}
SYSTEMS = (70_000, 30_000, 13_000)
"""Ones of 100,000 reports at ε = 2 of half of the devices: about 152,500, 47,500 and 2,800 devices."""

REGIONS = (80_000, 25_000)


def declare(name: str, attributes: Mapping[str, Sequence[str]]) -> None:
    population_change(
        population=population_named(name),
        description="",
        budget=Budget(epsilon=20, delta=1e-2),
        attributes=Attributes.from_members(attributes),
        actor=None,
    )


def counted(
    event: str = "os", ones: Sequence[int] = SYSTEMS, *, withheld: bool = False, **changes: Any
) -> Recipe:
    """A recipe with a released result that counts the values of an attribute."""
    labels = DECLARED.get(event, DECLARED["os"])
    simulation = changes.pop("simulation", False)
    # The guarantees of a small cohort are computed in no time; what is released is of 100,000 reports.
    members = members_of(**{"event": event, "labels": labels, "k": len(labels), "cohort_size": 20, **changes})
    recipe = publish(members, simulation=simulation)
    SubAggregate.objects.create(recipe=recipe, reports=100_000, total=list(ones))
    recipe = recipe_close(recipe=recipe, actor=None)
    # As many as explain the reports.
    issued = IssuedTokens(str(recipe.identifier), 200_000)
    Issuance.objects.filter(recipe=recipe).update(issued=issued.issued, signature=issued.sign(ISSUER_KEY))
    if withheld:
        result_withhold(recipe=recipe, reason="no need", actor=None)
    else:
        result_release(recipe=recipe)
    return recipe


def file_of(*conditions: tuple[str, str, Recipe], **changes: Any) -> dict[str, Any]:
    """A recipe file that asks devices with these values, counted by these recipes."""
    target = {name: {"value": value, "recipe": recipe.identifier} for name, value, recipe in conditions}
    asked = {
        "admission": "token",
        "relay": True,
        "sampling_rate": 0.5,
        "cohort_size": 20,
        "target": target,
        "smallest_target": 5_000,
    }
    return recipe_members(**asked | changes)


def publish(members: dict[str, Any], *, simulation: bool = False) -> Recipe:
    return recipe_publish_file(
        members=members, actor=None, simulation=simulation, admitting=FakeIssuer().admitting()
    )
