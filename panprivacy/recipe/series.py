"""A recipe that is asked again and again: when its rounds open, and how many there are."""

import calendar
import dataclasses
import functools
import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self
from zoneinfo import ZoneInfo, available_timezones

from panprivacy.formats.display import duration_and_seconds
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, as_typed
from panprivacy.formats.times import LATEST, format_time, parse_time, time_after
from panprivacy.recipe.draft import GRACE, RecipeDraft
from panprivacy.recipe.fields import NAME_LENGTH
from panprivacy.recipe.repetition import Repetition
from panprivacy.recipe.rounds.draft import FIELDS as ROUNDS_FIELDS
from panprivacy.recipe.rounds.draft import RoundsDraft

NAMED = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=28)}
"""How often, by name; a month is at least that long. It is an hour less if clocks are set forward."""

EVERY = Description(
    label="Seconds from round to round",
    help="`day`, `week`, `month`, or a number of seconds.",
    minimum=60,
    maximum=366 * 86_400,
)
MOST_ROUNDS = 400
ROUNDS = Description(label="Rounds", help="How often the recipe is asked.", minimum=1, maximum=MOST_ROUNDS)

DEFAULT_ZONE = "UTC"
_NO_ZONES = {"Factory", "localtime"}
"""Names in the database of time zones without a place, or with another one on each machine."""

_SUFFIX = len(f", round {MOST_ROUNDS} of {MOST_ROUNDS}")


@dataclass(frozen=True, kw_only=True)
class SeriesDraft(Repetition):
    """A series that is not yet published.

    Attributes:
        recipe: what every round asks. Its `opens_at` is when the first round opens, or None for immediately.
        every: `day`, `week`, `month`, or seconds.
        time_zone: in which days, weeks and months are counted: a name of the IANA database, e.g.
            Europe/Berlin.
        rounds: their number; None if `until` is given.
        until: no round opens at this time or later; None if `rounds` is given.
    """

    recipe: RecipeDraft
    every: str | int
    time_zone: str
    rounds: int | None
    until: datetime | None

    @classmethod
    def from_mapping(cls, members: Mapping[str, object]) -> Self:
        """Read a recipe file with `every`, `rounds` or `until`, and perhaps `time_zone`.

        Raises:
            FieldError: names the first field that is unknown, missing or out of range.
        """
        members = dict(members)
        if "every" not in members:
            raise FieldError("every", "is missing: day, week, month or a number of seconds")
        every = _every(members.pop("every"))
        time_zone = _time_zone(members.pop("time_zone", DEFAULT_ZONE), every)
        rounds, until = members.pop("rounds", None), members.pop("until", None)
        if (rounds is None) == (until is None):
            raise FieldError("rounds", "either `rounds` or `until` must be given, and only one of them")
        if "closes_at" in members:
            raise FieldError("closes_at", "must be left out of a series: each round has its own")
        recipe = RecipeDraft.from_mapping(members)
        if recipe.target is not None:
            raise FieldError(
                "target", "must be left out: a cited result is about one day, not about every round"
            )
        if len(recipe.name) > NAME_LENGTH - _SUFFIX:
            raise FieldError("name", f"must have at most {NAME_LENGTH - _SUFFIX} characters in a series")
        draft = cls(
            recipe=recipe,
            every=every,
            time_zone=time_zone,
            rounds=None if rounds is None else ROUNDS.check("rounds", int, rounds),
            until=None if until is None else parse_time("until", until),
        )
        if draft.shortest < recipe.steps_duration:
            needed = duration_and_seconds(int(recipe.steps_duration.total_seconds()))
            short = ", and a month may have only 28 days" if every == "month" else ""
            raise FieldError("every", f"must be at least {needed}, which the steps of a round take{short}")
        return draft

    @property
    def shortest(self) -> timedelta:
        """The least time from one round's opening to that of the next, except for an hour if clocks are set
        forward."""
        return NAMED[self.every] if isinstance(self.every, str) else timedelta(seconds=self.every)

    def openings(self, now: datetime) -> tuple[datetime, ...]:
        """When each round opens: at the same time of the day in the series' zone, or after a fixed number of
        seconds.

        The 31st is the last day of shorter months. Clocks that are set forward skip some times of the day:
        the first moment after them is taken. Of a time that comes twice, the first is taken.

        Args:
            now: the first opening time if the recipe names none.

        Raises:
            FieldError: `until` allows no round, or too many of them; or one closes at a time that documents
                cannot express.
        """
        first = self.recipe.opens_at or now.replace(microsecond=0)
        found: list[datetime] = []
        # 400 rounds, one a year, stay within the range of a datetime.
        while len(found) != self.rounds:
            opening = self._opening(first, len(found))
            if self.until is not None and opening >= self.until:
                break
            if len(found) >= MOST_ROUNDS:
                raise FieldError("until", f"allows more than {MOST_ROUNDS:,} rounds")
            if found and time_after(opening, self.recipe.steps_duration + GRACE) is None:
                raise self._never_closes(found, opening)
            found.append(opening)
        if not found:
            raise FieldError("until", f"must come after the first round opens, {format_time(first)}")
        return tuple(found)

    def _never_closes(self, found: list[datetime], opening: datetime) -> FieldError:
        """The refusal of rounds that would close later than documents can express."""
        ends = f"later rounds do not close by the end of the year {LATEST.year}"
        if self.until is not None:
            return FieldError("until", f"must be at most {format_time(opening)}: {ends}")
        return FieldError("rounds", f"must be at most {len(found):,}: {ends}")

    def closes(self, opens_at: datetime) -> datetime:
        return dataclasses.replace(self.recipe, opens_at=opens_at, closes_at=None).window(opens_at)[1]

    def latest(self, draft: RecipeDraft, opens_at: datetime, following: datetime | None) -> datetime:
        """The time at which a round stops being asked: the next one opens, or its own devices could not take
        their steps in time.

        Args:
            draft: of the round.
            opens_at: when it should have opened.
            following: when the next one opens; None after the last.
        """
        return min(
            opens_at + self.shortest if following is None else following,
            draft.window(opens_at)[1] - timedelta(seconds=1),
        )

    def round(self, number: int, rounds: int, opens_at: datetime) -> RecipeDraft:
        """The recipe of one round; its name has the number.

        Args:
            number: from 1 to `rounds`.
        """
        name = f"{self.recipe.name}, round {number} of {rounds}"
        return dataclasses.replace(self.recipe, name=name, opens_at=opens_at, closes_at=None)

    def ending(self, now: datetime, rounds: int) -> Self:
        """The same with this number of rounds, the last one at `now`; when the first opens stays if it is
        set."""
        begun = self.recipe.opens_at or now.replace(microsecond=0) - (rounds - 1) * self.shortest
        recipe = dataclasses.replace(self.recipe, opens_at=begun)
        return dataclasses.replace(self, recipe=recipe, rounds=rounds, until=None)

    def as_dict(self) -> dict[str, Any]:
        """The fields that `from_mapping` reads."""
        members = self.recipe.as_dict() | {"every": self.every, "time_zone": self.time_zone}
        if self.until is not None:
            return members | {"until": format_time(self.until)}
        return members | {"rounds": self.rounds}

    def _opening(self, first: datetime, number: int) -> datetime:
        if number == 0 or isinstance(self.every, int):
            return first + number * self.shortest
        zone = ZoneInfo(self.time_zone)
        begun = first.astimezone(zone).replace(tzinfo=None)
        later = begun + number * self.shortest if self.every != "month" else _months_later(begun, number)
        return _moment(later, zone)


def repetition_of(members: Mapping[str, object]) -> Repetition:
    """Read a file of several rounds: with `every` they open by the clock, otherwise one after the other.

    Raises:
        FieldError: names the first field that is unknown, missing or out of range.
    """
    by_clock = "every" in members or "until" in members
    kind = RoundsDraft if not by_clock and members.keys() & set(ROUNDS_FIELDS) else SeriesDraft
    return kind.from_mapping(members)


def zone_warning(members: Mapping[str, object]) -> str:
    """A warning if the days, weeks or months of a file may be meant in another zone; otherwise empty.

    Args:
        members: of a file that `SeriesDraft.from_mapping` accepts.
    """
    offset = re.search(r"[+-]\d\d:\d\d$", str(members.get("opens_at")))
    if "time_zone" in members or members.get("every") not in NAMED or not offset or offset[0][1:] == "00:00":
        return ""
    return (
        f"opens_at has the offset {offset[0]}, but each {members['every']} is counted in UTC. "
        "Name a time_zone, such as Europe/Berlin, to count in local time."
    )


def _months_later(time: datetime, number: int) -> datetime:
    months = time.month - 1 + number
    year, month = time.year + months // 12, months % 12 + 1
    return time.replace(year=year, month=month, day=min(time.day, calendar.monthrange(year, month)[1]))


def _moment(local: datetime, zone: ZoneInfo) -> datetime:
    """When clocks of a zone show a time for the first time; if they skip it, when they do."""
    moment = local.replace(tzinfo=zone).astimezone(UTC)
    shown = moment.astimezone(zone)
    if shown.replace(tzinfo=None) == local:
        return moment
    # With the offset that ends at the change, the time lies after it; with the one that begins, ahead of it.
    earlier = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    seconds = range(int((moment - earlier).total_seconds()))
    changed = bisect_left(
        seconds,
        True,
        key=lambda second: (
            (earlier + timedelta(seconds=second)).astimezone(zone).utcoffset() == shown.utcoffset()
        ),
    )
    return earlier + timedelta(seconds=changed)


@functools.cache
def _zones() -> frozenset[str]:
    # Searches hundreds of files.
    return frozenset(available_timezones() - _NO_ZONES)


def _time_zone(value: object, every: str | int) -> str:
    if not isinstance(value, str) or (value != DEFAULT_ZONE and value not in _zones()):
        like = {name.lower(): name for name in _zones()}.get(str(value).lower(), "Europe/Berlin")
        raise FieldError(
            "time_zone", f"must be a name of the IANA database, such as {like}, not {as_typed(value)}"
        )
    if isinstance(every, int) and value != DEFAULT_ZONE:
        raise FieldError("time_zone", "must be left out, or UTC: an interval in seconds has no time of day")
    return value


def _every(value: object) -> str | int:
    if isinstance(value, str) and re.fullmatch(r"[1-9][0-9]{0,8}", value):
        value = int(value)  # from a form
    if isinstance(value, str) and value in NAMED:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        seconds: int = EVERY.check("every", int, value)
        return seconds
    raise FieldError("every", f"must be day, week, month or a number of seconds, not {as_typed(value)}")
