"""How long does it take until the first event?"""

from dataclasses import dataclass
from functools import cached_property

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.formats.structures import RisingNumbers
from panprivacy.statistics.events.automaton import Automaton
from panprivacy.statistics.events.derived import Curve, Form, Median, Ratio
from panprivacy.statistics.events.questions.interface import (
    MOST_STEPS,
    OneEventParameters,
    cells_from,
    steps_text,
)
from panprivacy.statistics.events.regular import MOST_CELLS, Question, RegularQuestion


@dataclass(frozen=True, kw_only=True)
class TimeToFirstParameters(OneEventParameters):
    """Rising bounds, in steps."""

    within: tuple[int, ...] = described(
        label="Within",
        help="Bounds in steps, rising, with commas between. For each: how many devices had their first "
        "event by then.",
        structure=RisingNumbers(1, MOST_CELLS - 1, MOST_STEPS),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.within[-1] > self.steps:
            raise FieldError("within", f"must be at most steps, {self.steps:,}, not {self.within[-1]:,}")

    @cached_property
    def question(self) -> Question:
        """States: no event so far, one for each bound ahead, and one when all are over (0..m); the first
        event lay within bound i (m + 1 + i). The clock moves on at each bound."""
        bounds = len(self.within)
        waiting = bounds + 1
        states = waiting + bounds
        on = tuple(waiting + state if state < bounds else state for state in range(states))
        at = {}
        for number, bound in enumerate(self.within):
            table = list(range(states))
            table[number] = number + 1
            at[bound] = tuple(table)
        labels = (
            f"within {steps_text(self.within[0])}",
            *(
                f"after {before:,}, within {steps_text(bound)}"
                for before, bound in zip(self.within, self.within[1:], strict=False)
            ),
            "later or never",
        )
        everybody = cells_from(0, bounds + 1)
        ratios = [
            Ratio(
                f"within_{bound}",
                f"Within {steps_text(bound)}",
                frozenset(range(number + 1)),
                everybody,
            )
            for number, bound in enumerate(self.within)
        ]
        median = Median(
            "median", "Median time to the first event", self.within, tuple(one.name for one in ratios)
        )
        return Question(
            automaton=Automaton(start=0, on=(on,), at=at),
            cells=(*(bounds for _ in range(waiting)), *range(bounds)),
            labels=labels,
            ratios=tuple(ratios),
            others=(median,),
            answer=(
                (ratios[-1].name, f"{{}} had {self.event} within {steps_text(self.within[-1])}"),
                ("median", "half of all had it {}"),
            ),
            curve=Curve(
                form=Form.STEPS,
                unit="% of all devices",
                ratios=tuple(one.name for one in ratios),
                places=tuple(f"{bound:,}" for bound in self.within),
                across="steps",
                at=self.within,
                first=(0, 0),
            ),
        )


class TimeToFirst(RegularQuestion[TimeToFirstParameters]):
    """How long it takes until the first event."""

    statistic = "time_to_first"
    title = "Time to the first event"
    description = "Estimates how many devices had their first event within each of several times."
    parameters_class = TimeToFirstParameters
