"""Ask a part of the devices, without anyone learning which: on how many aircraft of Kennedy was a flight
late?

    .venv/bin/python -m examples.targeting

A device is an aircraft of American Airlines in January 2013. It alone knows from which airport it leaves most
often. First `categories` counts these airports. A second recipe has a target, and cites that result: it asks
aircraft of Kennedy. All others take a token, too, and send nothing. The issuer, the attester and the relay
run next to the site.
"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

import os
import sys
from typing import Any

import django

from devices_sim.fleet_attributes import FleetAttributes
from devices_sim.workloads.bucket import ValueWorkload, listed
from devices_sim.workloads.flights import STEPS, flights, home_airports

AIRLINE = "AA"
POPULATION = "aircraft-with-airport"
"""Not that of `make demo`, whose aircraft have no attribute: a population is declared once."""
ATTRIBUTE = "airport"
VALUES = ("newark", "kennedy", "la-guardia")
"""In the order of `devices_sim.workloads.flights.AIRPORTS`."""

ASKED = "kennedy"

COUNT: dict[str, Any] = {
    "name": "Home airports",
    "question": "From which airport does the aircraft leave most often?",
    "event": ATTRIBUTE,
    "population": POPULATION,
    "statistic": "categories",
    "trust": "single_server",
    "admission": "token",
    "relay": True,
    "k": len(VALUES),
    "labels": list(VALUES),
    "epsilon": 4.0,
    "delta": 1e-6,
    "cohort_size": 300,
}


def targeted(count: str) -> dict[str, Any]:
    """The recipe file that asks aircraft of Kennedy.

    Args:
        count: identifier of the recipe whose result counted the airports.
    """
    return {
        "name": "Late aircraft of Kennedy",
        "question": "On how many aircraft of Kennedy did a flight arrive more than an hour late?",
        "event": "arrival.late",
        "population": POPULATION,
        "statistic": "count_nonzero",
        "admission": "token",
        "relay": True,
        "target": {ATTRIBUTE: {"value": ASKED, "recipe": count}},
        "smallest_target": 100,
        "steps": STEPS,
        "epsilon": 2.0,
        "delta": 1e-6,
        "sampling_rate": 0.5,
        "cohort_size": 40,
    }


def main() -> None:
    """Count, ask, and print both results."""
    django.setup()
    # Django's apps can be imported from here on only.
    from ledger.budget import Budget
    from ledger.models import Population
    from ledger.operations import population_create
    from panprivacy.recipe.draft import RecipeDraft
    from panprivacy.recipe.targeting.attributes import Attributes
    from simulations.collect.collection import collection_run, roles_beside
    from simulations.installation.services import SIMULATING
    from simulations.installation.shared_installation import shared_installation

    late = flights(AIRLINE)
    names = {name for name, _ in late}
    homes = [(name, home) for name, home in home_airports() if name in names]
    attributes = {name: {ATTRIBUTE: VALUES[int(home)]} for name, home in homes}

    beside = roles_beside(RecipeDraft.from_mapping(COUNT))
    with shared_installation(partners=beside, warn=say, environment=SIMULATING) as services:
        if not Population.objects.filter(name=POPULATION).exists():
            population_create(
                name=POPULATION,
                description="Aircraft that know their airport.",
                budget=Budget(epsilon=4.0, delta=1e-5),
                attributes=Attributes.from_members({ATTRIBUTE: list(VALUES)}),
                actor=None,
            )
        common: dict[str, Any] = {
            "services": services,
            "seed": None,
            "eager": False,
            "processes": 1,
            "say": lambda _: None,
        }
        counted = collection_run(members=COUNT, workload=ValueWorkload(listed(homes)), **common).as_dict()
        say(f"{COUNT['question']} {counted['devices']} aircraft answered.")
        for value, estimate, truth in zip(VALUES, counted["estimate"], counted["truth"], strict=True):
            say(f"  {value}: {estimate:.0f} (truth {truth:.0f})")
        asked = collection_run(
            members=targeted(counted["recipe"]),
            workload=late,
            attributes=FleetAttributes(of_device=attributes),
            **common,
        ).as_dict()
    devices, outside = asked["devices"], asked["outside"]
    say(targeted(counted["recipe"])["question"])
    say(f"  {devices} aircraft took a token. {outside} are of other airports, and sent nothing.")
    say(f"  {asked['reports']['accepted']} of the {devices - outside} others reported, by their coins.")
    estimate, interval, truth = asked["estimate"], asked["interval"], asked["truth"]
    low, high, level = interval["low"], interval["high"], interval["level"]
    within = f"{low:.0f} to {high:.0f} at {level:.0%} confidence"
    say(f"  {estimate:.0f} late aircraft, {within} (truth {truth:.0f})")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")
    console.run(main)
