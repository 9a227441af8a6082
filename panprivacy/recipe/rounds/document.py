"""The document of all rounds of a recipe: what each of them asks, how many there are, what all guarantee.

It is published ahead of the first round, signed and in the public log. Devices check each round against it,
so that a round can be no other recipe, and there are no more rounds than announced.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Self

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.planning.limits import RecipeLimits
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.parts.admission import Admission
from panprivacy.recipe.parts.round import RoundPlace
from panprivacy.recipe.rounds.draft import (
    DONATION_ROUNDS,
    PUBLIC_INPUT,
    ROUND_SECONDS,
    ROUNDS,
    RoundsDraft,
    round_name,
)
from panprivacy.recipe.rounds.privacy import rounds_event, rounds_guarantees, rounds_model
from panprivacy.recipe.signed_documents import SignedDocument
from panprivacy.statistics.catalogue import statistic_class, statistic_of
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.trust_models import under_trust

FORMAT = "panapp-rounds-1"

MADE_FOR_EACH = ("format", "name", "opens_at", "closes_at", "round", "admission", "relay")
"""Fields of a round's document that are its own, in addition to those that name its servers with their
keys."""

_SERIES = re.compile(r"[0-9a-f]{16}")


class RoundRefusedError(ValueError):
    """A round that does not belong to the recipe that it names."""


@dataclass(frozen=True, kw_only=True)
class PublishedRounds(SignedDocument):
    """A published recipe in rounds.

    Attributes:
        name: of the whole; each round's adds its number.
        series: 16 random hexadecimal digits, so that the same rounds published again differ.
        shared_fields: the fields that the document of every round has, with these values.
        rounds, round_seconds, once, public_input: as in `RoundsDraft`.
        admission: whether each round asks for a token.
        relay: whether each round names a relay.
        privacy: the guarantees for all rounds together, as plain JSON values.
    """

    name: str
    series: str
    shared_fields: Mapping[str, Any]
    rounds: int
    round_seconds: int
    once: bool
    public_input: bool
    admission: bool
    relay: bool
    privacy: tuple[Mapping[str, Any], ...]
    format: str = FORMAT

    @classmethod
    def of(
        cls,
        draft: RoundsDraft,
        *,
        series: str,
        simulation: bool = False,
        guarantees: Sequence[Guarantee] | None = None,
    ) -> Self:
        """The document of a draft.

        Args:
            series: the attribute; drawn again each time.
            simulation: whether the reports come from simulated devices.
            guarantees: of all rounds of this draft, under its trust model; None to compute them, which takes
                seconds.

        Raises:
            FieldError: the parameters cannot be met.
        """
        recipe, stated = draft.recipe, guarantees
        if stated is None:
            computed = rounds_guarantees(draft.statistic, draft.rounds, once=draft.once)
            stated = under_trust(computed, recipe.trust)
        return cls(
            name=recipe.name,
            series=series,
            shared_fields=recipe.settled_fields() | {"simulation": simulation},
            rounds=draft.rounds,
            round_seconds=draft.round_seconds,
            once=draft.once,
            public_input=draft.public_input,
            admission=recipe.admission is Admission.TOKEN,
            relay=recipe.relay,
            privacy=tuple(_plain(guarantee) for guarantee in stated),
        )

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> Self:
        members = dict(document)
        number = "donation_rounds" if "donation_rounds" in members else "rounds"
        names = {
            "format",
            "name",
            "series",
            "asks",
            number,
            "round_seconds",
            PUBLIC_INPUT,
            "admission",
            "relay",
            "privacy",
        }
        for odd in sorted(names ^ members.keys()):
            raise FieldError(odd, "is missing" if odd in names else "is not a field of these documents")
        if members["format"] != FORMAT:
            raise FieldError("format", f"must be {FORMAT}, not {as_typed(members['format'])}")
        once = number == "donation_rounds"
        shared_fields, privacy, name, series = (
            members[each] for each in ("asks", "privacy", "name", "series")
        )
        if not isinstance(shared_fields, Mapping) or not isinstance(name, str):
            raise FieldError("asks", "must be an object, and name a text")
        if not isinstance(series, str) or not _SERIES.fullmatch(series):
            raise FieldError("series", f"must be 16 lower-case hexadecimal digits, not {as_typed(series)}")
        if not isinstance(privacy, list) or not all(isinstance(one, Mapping) for one in privacy):
            raise FieldError("privacy", "must be a list of guarantees")
        for flag in (PUBLIC_INPUT, "admission", "relay"):
            if not isinstance(members[flag], bool):
                raise FieldError(flag, "must be true or false")
        description = DONATION_ROUNDS if once else ROUNDS
        return cls(
            name=name,
            series=series,
            shared_fields=shared_fields,
            rounds=description.check(number, int, members[number]),
            round_seconds=ROUND_SECONDS.check("round_seconds", int, members["round_seconds"]),
            once=once,
            public_input=bool(members[PUBLIC_INPUT]),
            admission=bool(members["admission"]),
            relay=bool(members["relay"]),
            privacy=tuple(privacy),
        )

    @property
    def document(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "name": self.name,
            "series": self.series,
            "asks": dict(self.shared_fields),
            ("donation_rounds" if self.once else "rounds"): self.rounds,
            "round_seconds": self.round_seconds,
            PUBLIC_INPUT: self.public_input,
            "admission": self.admission,
            "relay": self.relay,
            "privacy": [dict(one) for one in self.privacy],
        }

    def require_round(self, recipe: PublishedRecipe) -> RoundPlace:
        """Check a verified recipe as one of the rounds.

        Returns:
            its place.

        Raises:
            RoundRefusedError: it is no round, or differs from what every round asks; the message names the
                field.
        """
        place = recipe.round
        if place is None or place.of != self.identifier:
            raise RoundRefusedError("the recipe is no round of this document")
        if place.number > self.rounds:
            raise RoundRefusedError(f"there are {self.rounds:,} rounds, and this is number {place.number:,}")
        if (place.input is not None) != self.public_input:
            problem = "needs a public input and names none" if self.public_input else "has no public input"
            raise RoundRefusedError(f"a round {problem}")
        if recipe.name != round_name(self.name, place.number, self.rounds):
            raise RoundRefusedError("its name is not that of its number")
        if (recipe.admission is not None, recipe.relay is not None) != (self.admission, self.relay):
            raise RoundRefusedError("admission or relay differs from that of the other rounds")
        if recipe.closes_at - recipe.opens_at != timedelta(seconds=self.round_seconds):
            raise RoundRefusedError(f"a round is open for {self.round_seconds:,} seconds")
        own = {*MADE_FOR_EACH, *recipe.servers.member_names}
        document = {name: value for name, value in recipe.document.items() if name not in own}
        for name in sorted(document.keys() | self.shared_fields.keys()):
            if (
                name not in document
                or name not in self.shared_fields
                or document[name] != self.shared_fields[name]
            ):
                raise RoundRefusedError(f"its {name} is not that of every round")
        return place

    @property
    def statistic(self) -> CohortStatistic[Any]:
        """Of every round; FieldError if the question is impossible."""
        statistic = statistic_class(self.shared_fields.get("statistic"))
        if not issubclass(statistic, CohortStatistic):
            raise FieldError("statistic", "must be one that is added up over devices")
        names = statistic.parameters_class.names()
        parameters = statistic.parameters_class.from_mapping(
            {name: value for name, value in self.shared_fields.items() if name in names}
        )
        segments = self.shared_fields.get("segments", ())
        dummies = self.shared_fields.get("hidden_count")
        if dummies is not None:
            raise FieldError("hidden_count", "must be left out of rounds")
        found = statistic_of(statistic.statistic, parameters, segments)
        if not isinstance(found, CohortStatistic):
            raise TypeError("segments of another kind of statistic")
        return found

    def require_promise(self, limits: RecipeLimits | None = None) -> None:
        """Check once, ahead of the first round, that all rounds together cost what is stated. Takes seconds.

        Args:
            limits: of the device; None for a simulated one.

        Raises:
            FieldError: named `privacy`, if the combined results of all rounds cost more than is stated; or
                named `rounds`, if that is beyond the device's limit.
        """
        statistic = self.statistic
        event = rounds_event(statistic, self.rounds, once=self.once)
        epsilon = event.epsilon(statistic.parameters.delta)
        model = rounds_model(statistic, once=self.once)
        stated = [
            one.get("epsilon")
            for one in self.privacy
            if (one.get("model"), one.get("relation"), one.get("dishonest_fraction"))
            == (model.value, event.neighbours.value, 0.0)
        ]
        if len(stated) != 1 or not isinstance(stated[0], int | float) or stated[0] < epsilon * (1 - 1e-6):
            raise FieldError("privacy", f"does not state that all rounds together cost ε = {epsilon:.4g}")
        if limits is not None and epsilon > limits.largest_epsilon:
            raise FieldError(
                "rounds",
                f"cost ε = {epsilon:.3g} together, and this device's limit is {limits.largest_epsilon:g}",
            )


def _plain(guarantee: Guarantee) -> dict[str, Any]:
    return {
        name: value.value if isinstance(value, StrEnum) else value
        for name, value in guarantee.as_dict().items()
    }
