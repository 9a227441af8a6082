"""Do they come back?"""

from dataclasses import dataclass
from functools import cached_property

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.statistics.events.automaton import Automaton
from panprivacy.statistics.events.derived import Curve, Form, Ratio
from panprivacy.statistics.events.questions.interface import (
    MOST_STEPS,
    OneEventParameters,
    cells_from,
)
from panprivacy.statistics.events.regular import Question, RegularQuestion


@dataclass(frozen=True, kw_only=True)
class RetentionParameters(OneEventParameters):
    """Periods of as many steps, counted from the recipe's first."""

    period_steps: int = described(
        label="Steps in a period",
        help="For example 7 steps of a day: a week.",
        minimum=1,
        maximum=50_000,
        suggested=7,
    )
    periods: int = described(
        label="Periods",
        help="How many periods to follow devices for.",
        minimum=2,
        maximum=26,
        suggested=4,
    )
    steps: int = described(
        label="Steps",
        help="The periods times the steps in each.",
        minimum=1,
        maximum=MOST_STEPS,
        default=None,
        implied=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        steps = self.periods * self.period_steps
        if steps > MOST_STEPS:
            raise FieldError(
                "period_steps", f"must be at most {MOST_STEPS // self.periods:,} in {self.periods} periods"
            )
        if self.steps not in (None, steps):
            raise FieldError(
                "steps", f"must be periods times period_steps, {steps:,}, or left out, not {self.steps:,}"
            )
        object.__setattr__(self, "steps", steps)

    @cached_property
    def question(self) -> Question:
        """States: not in the first period; in this period (S); last in period 1, 2, … (L_i).

        An event leads from the start, and from every L_i, to S. At the end of period i, S becomes L_i; at the
        end of the first, who was not there leaves for good.
        """
        start, gone, seen = 0, 1, 2
        states = 3 + self.periods
        on = tuple(state if state == gone else seen for state in range(states))
        at = {}
        for period in range(1, self.periods + 1):
            table = list(range(states))
            table[seen] = 2 + period
            if period == 1:
                table[start] = gone
            at[period * self.period_steps] = tuple(table)
        cells = self.periods + 1
        labels = ("not in period 1", *(f"until period {period}" for period in range(1, cells)))
        there = cells_from(1, cells)
        ratios = [Ratio("in_period_1", "In period 1", there, cells_from(0, cells))]
        ratios += [
            Ratio(
                f"still_{period}",
                f"Still there in period {period} or later",
                cells_from(period, cells),
                there,
            )
            for period in range(2, cells)
        ]
        return Question(
            automaton=Automaton(start=start, on=(on,), at=at),
            # No device is at the start or in S after the last step.
            cells=(0, 0, self.periods, *range(1, cells)),
            labels=labels,
            ratios=tuple(ratios),
            answer=(
                ("in_period_1", f"{{}} had {self.event} in period 1"),
                (f"still_{self.periods}", f"of those {{}} still had it in period {self.periods}"),
            ),
            curve=Curve(
                form=Form.BAND,
                unit="% of the devices of period 1",
                ratios=tuple(one.name for one in ratios[1:]),
                places=tuple(str(number) for number in range(2, cells)),
                across="still there in this period or later",
                at=tuple(range(2, cells)),
                first=(1, 100),
            ),
        )


class Retention(RegularQuestion[RetentionParameters]):
    """Until when devices of the first period come back."""

    statistic = "retention"
    title = "Retention: do they come back"
    description = (
        "Estimates how many devices with the event in the first period still have it in later ones: until "
        "which period."
    )
    parameters_class = RetentionParameters
