"""A recipe in rounds: each opens after the last one's result, under one budget."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from panprivacy.accounting.number_cache import symmetric_loss_of
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, as_typed
from panprivacy.formats.times import LATEST, format_time, time_after
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.fields import NAME_LENGTH, pop_fields, require_open_for_steps
from panprivacy.recipe.parts.round import MOST_ROUNDS, RoundPlace
from panprivacy.recipe.repetition import Repetition
from panprivacy.recipe.rounds.privacy import (
    donation_amplified,
    events_composed,
    rounds_guarantees,
)
from panprivacy.statistics.catalogue import statistic_class
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models import TRUST_MODELS

ROUNDS = Description(
    label="Rounds",
    help="Number of results, one after the other, under one budget.",
    minimum=1,
    maximum=MOST_ROUNDS,
)
DONATION_ROUNDS = Description(
    label="Donation rounds",
    help="Number of rounds (m). Each device gives in the first round that its coin of 1/m chooses, or never.",
    minimum=2,
    maximum=MOST_ROUNDS,
)
ROUND_SECONDS = Description(
    label="Seconds per round",
    help="How long a round takes reports. One that has too few by then releases nothing.",
    minimum=1,
    maximum=31 * 86_400,
)
PUBLIC_INPUT = "public_input"

FIELDS = ("rounds", "donation_rounds", "round_seconds", PUBLIC_INPUT)
"""Fields of a file of rounds in addition to those of a recipe file."""

_SUFFIX = len(f", round {MOST_ROUNDS} of {MOST_ROUNDS}")


@dataclass(frozen=True, kw_only=True)
class RoundsDraft(Repetition):
    """A recipe in rounds, not yet published.

    Attributes:
        recipe: what every round asks; with `once`, its sampling rate is 1/rounds.
        rounds: R, or m.
        round_seconds: for how long a round is open.
        once: whether a device gives in one round at most (donation time, SAA appendix A).
        public_input: whether a round opens only when its public input, e.g. a model, is published.
    """

    recipe: RecipeDraft
    rounds: int
    round_seconds: int
    once: bool = False
    public_input: bool = False

    shared_line: ClassVar[bool] = True

    @classmethod
    def from_mapping(cls, members: Mapping[str, object]) -> Self:
        """Read a recipe file with `round_seconds`, and `rounds` or `donation_rounds`.

        Raises:
            FieldError: names the first field that is unknown, missing or out of range.
        """
        members = {name: value for name, value in members.items() if value is not None}
        fields = pop_fields(members, FIELDS)
        if ("rounds" in fields) == ("donation_rounds" in fields):
            raise FieldError(
                "rounds", "either `rounds` or `donation_rounds` must be given, and only one of them"
            )
        if "round_seconds" not in fields:
            raise FieldError("round_seconds", f"is missing: {ROUND_SECONDS.allowed(int)}")
        if "time_zone" in members:
            raise FieldError("time_zone", "must be left out: each round follows the result of the last one")
        if "closes_at" in members:
            raise FieldError("closes_at", "must be left out: each round closes after `round_seconds`")
        statistic = statistic_class(members.get("statistic"))
        if not issubclass(statistic, CohortStatistic):
            raise FieldError(
                "rounds", f"must be left out: {statistic.statistic} is not added up over devices in rounds"
            )
        once = "donation_rounds" in fields
        rounds: int = (
            DONATION_ROUNDS.check("donation_rounds", int, fields["donation_rounds"])
            if once
            else ROUNDS.check("rounds", int, fields["rounds"])
        )
        if once and members.setdefault("sampling_rate", 1 / rounds) != 1 / rounds:
            raise FieldError(
                "sampling_rate", f"must be left out: with `donation_rounds` it is 1/{rounds:,} in each round"
            )
        public_input = fields.get(PUBLIC_INPUT, False)
        if not isinstance(public_input, bool):
            raise FieldError(PUBLIC_INPUT, f"must be true or false, not {as_typed(public_input)}")
        recipe = RecipeDraft.from_mapping(members)
        if not TRUST_MODELS[recipe.trust].has_rounds:
            raise FieldError("rounds", f"must be left out under {recipe.trust}")
        if recipe.hidden_count is not None:
            raise FieldError("hidden_count", "must be left out: rounds reveal how many devices took part")
        if recipe.target is not None:
            raise FieldError(
                "target", "must be left out: a cited result is about one day, not about every round"
            )
        if len(recipe.name) > NAME_LENGTH - _SUFFIX:
            raise FieldError("name", f"must have at most {NAME_LENGTH - _SUFFIX} characters if it has rounds")
        draft = cls(
            recipe=recipe,
            rounds=rounds,
            round_seconds=ROUND_SECONDS.check("round_seconds", int, fields["round_seconds"]),
            once=once,
            public_input=public_input,
        )
        require_open_for_steps("round_seconds", draft._open_for, recipe.steps_duration)
        if recipe.opens_at is not None:
            draft.closes(recipe.opens_at)
        return draft

    @property
    def statistic(self) -> CohortStatistic[Any]:
        """Of one round, calibrated; FieldError if the parameters cannot be met."""
        return _over_devices(self.recipe.calibrated_statistic())

    def openings(self, now: datetime) -> tuple[datetime, ...]:
        return (self.recipe.opens_at or now.replace(microsecond=0),)

    def closes(self, opens_at: datetime) -> datetime:
        closes_at = time_after(opens_at, self._open_for)
        if closes_at is None:
            latest = format_time(LATEST - self._open_for)
            raise FieldError("opens_at", f"must be at most {latest}, so that the first round closes by then")
        return closes_at

    @property
    def _open_for(self) -> timedelta:
        return timedelta(seconds=self.round_seconds)

    @property
    def anonymized(self) -> Self:
        """The same with only what its guarantees depend on, as in `RecipeDraft`."""
        recipe = self.recipe.anonymized
        shortest = int(recipe.steps_duration.total_seconds()) + 1
        return dataclasses.replace(self, recipe=recipe, round_seconds=shortest, public_input=False)

    def prepare(self) -> None:
        """Compute the guarantees, and the losses that a budget composes, so that they are remembered.

        Raises:
            FieldError: as in `RecipeDraft`.
        """
        statistic = self.statistic
        for event in events_composed(statistic, once=self.once):
            symmetric_loss_of(event)
        rounds_guarantees(statistic, self.rounds, once=self.once)
        if self.once:
            donation_amplified(statistic, self.rounds)

    def round(self, place: RoundPlace, opens_at: datetime) -> RecipeDraft:
        """The recipe of one round; its name has the number.

        Args:
            place: its number from 1 to `rounds`.
        """
        return dataclasses.replace(
            self.recipe.having(round=place),
            name=round_name(self.recipe.name, place.number, self.rounds),
            opens_at=opens_at,
            closes_at=opens_at + self._open_for,
        )

    def as_dict(self) -> dict[str, Any]:
        number = {"donation_rounds": self.rounds} if self.once else {"rounds": self.rounds}
        input_field = {PUBLIC_INPUT: True} if self.public_input else {}
        return {**self.recipe.as_dict(), **number, "round_seconds": self.round_seconds, **input_field}


def round_name(name: str, number: int, rounds: int) -> str:
    """The name of one of this number of rounds of a recipe."""
    return f"{name}, round {number} of {rounds}"


def _over_devices(statistic: Statistic[Any]) -> CohortStatistic[Any]:
    if not isinstance(statistic, CohortStatistic):
        raise TypeError(f"{statistic.statistic} is not added up over devices")
    return statistic
