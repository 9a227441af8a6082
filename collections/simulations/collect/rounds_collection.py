"""All rounds of a recipe on simulated devices, one after the other: behind `collect`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.utils import timezone

from devices_sim.forecast import FleetForecast
from devices_sim.workloads.bucket import Workload, without
from panprivacy.recipe.parts.round import RoundPlace
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.rounds.privacy import donation_amplified
from series.models import RoundsDocument
from series.operations import round_simulated
from series.rounds import input_publish, place_of, rounds_publish_simulated
from simulations.collect.collection import AtRound, Say, collection_run, wait_until_heard
from simulations.installation.services import Services
from simulations.outcome import PRIVACY_MEMBERS, CollectionResult
from storage.columns import stored


@dataclass(frozen=True)
class RoundResult:
    """What came of one round.

    Attributes:
        signed: the document of all rounds.
        place: which of them it is, and its public input.
        collection: its recipe with what devices did and what was released.
    """

    signed: RoundsDocument
    place: RoundPlace
    collection: CollectionResult


def rounds_run(
    *,
    draft: RoundsDraft,
    workload: Workload[Any] | AtRound,
    services: Services,
    seed: int | None,
    eager: bool = False,
    weights: list[float] | None = None,
    processes: int,
    say: Say,
    forewarn: Callable[[FleetForecast], None] = lambda _: None,
    input_of: Callable[[int], Mapping[str, Any]] = lambda _: {},
) -> Iterator[RoundResult]:
    """Publish the document of all rounds, then each round with its devices; yields what came of each.

    The next round begins when it is asked for: by then, its public input may be made of the result before. No
    round waits for its end: it is closed as soon as all devices have reported.

    Args:
        workload: the devices, or what makes them of a round; where devices give once, without those that
            gave.
        input_of: the public input of a round from its number, where the draft says that there is one.
        seed, weights, eager, processes, say, forewarn: as of `collection_run`; forewarned is once.

    Raises: as `collection_run`. The rounds before are published with their results.
    """
    series = rounds_publish_simulated(draft=draft, actor=None)
    signed = RoundsDocument.objects.get(series=series)
    gave = set[str]()
    for number in range(1, draft.rounds + 1):
        say(f"round {number} of {draft.rounds}")
        if draft.public_input:
            input_publish(series=series, number=number, content=input_of(number), actor=None)
        place = place_of(series, number)
        if place is None:
            raise TypeError("a document was just made")
        opens_at = draft.recipe.opens_at or timezone.now().replace(microsecond=0)
        result = collection_run(
            members=draft.round(place, opens_at).as_dict(),
            place=place,
            workload=_remaining(workload, gave),
            services=services,
            seed=None if seed is None else seed + number - 1,
            weights=weights,
            eager=eager,
            processes=processes,
            say=say,
            forewarn=forewarn if number == 1 else lambda _: None,
            others_follow=True,
            stored=partial(round_simulated, series=series, number=number),
        )
        if draft.once:
            gave |= result.fleet.took_part
        yield RoundResult(signed, place, result)
    for asked in series.rounds.select_related("recipe").exclude(recipe=None):
        wait_until_heard(stored(asked.recipe), say)


def rounds_collect(*, draft: RoundsDraft, results: Iterator[RoundResult]) -> dict[str, Any]:
    """What `collect` prints of a recipe in rounds: that of its last round with a result, with what all rounds
    guarantee together as `privacy`, and what came of each as `rounds`.

    Args:
        results: by `rounds_run`; runs them.

    Raises: as `rounds_run`.
    """
    told: list[dict[str, Any]] = []
    for one in results:
        signed, place = one.signed, one.place
        told.append({"number": place.number, "input": place.input, **one.collection.as_dict()})
    last = next((one for one in reversed(told) if one["released"]), told[-1])
    whole = {name: value for name, value in last.items() if name not in ("number", "input")}
    privacy = [
        {member: guarantee[member] for member in PRIVACY_MEMBERS} for guarantee in signed.stated["privacy"]
    ]
    donation = {}
    if draft.once:
        donation = {"donation": donation_amplified(draft.statistic, draft.rounds).as_dict()}
    seconds = {name: round(sum(one["seconds"][name] for one in told), 3) for name in last["seconds"]}
    return {
        **whole,
        "document": signed.identifier,
        "privacy": privacy,
        **donation,
        "seconds": seconds,
        "rounds": told,
    }


def _remaining(workload: Workload[Any] | AtRound, gave: set[str]) -> Workload[Any] | AtRound:
    """Without the devices that gave."""
    if isinstance(workload, Workload):
        return without(workload, gave) if gave else workload
    return lambda turn: without(workload(turn), gave)
