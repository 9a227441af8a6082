"""Fills the demo's ledger: recipes for real devices, because only those spend a budget."""

from typing import Any

from ledger.budget import Budget
from ledger.models import Population
from ledger.operations import population_create
from publishing.publication import recipe_publish_file
from recipes.models import Recipe

POPULATION = "aircraft"
BUDGET = Budget(epsilon=1.0, delta=1e-6)

RECIPES: tuple[dict[str, Any], ...] = (
    {
        "name": "Late this week",
        "question": "How many aircraft arrive more than an hour late this week?",
        "steps": 7,
        "epsilon": 1.0,
    },
    {
        "name": "Late this month",
        "question": "How many aircraft arrive more than an hour late this month?",
        "steps": 30,
        "epsilon": 2.0,
    },
)
COMMON = {
    "statistic": "count_nonzero",
    "event": "arrival.late",
    "event_definition": "An aircraft arrives more than an hour late.",
    "delta": 1e-6,
    "cohort_size": 500,
    "population": POPULATION,
}


def ledger_begin() -> list[Recipe]:
    """Publish those of the recipes that are not there yet, for a population with a budget of its own."""
    if not Population.objects.filter(name=POPULATION).exists():
        population_create(
            name=POPULATION,
            description="Aircraft that may report. None does in this demo.",
            budget=BUDGET,
            actor=None,
        )
    there = set(Recipe.objects.filter(simulation=False).values_list("name", flat=True))
    return [
        recipe_publish_file(members={**COMMON, **members}, actor=None)
        for members in RECIPES
        if members["name"] not in there
    ]
