"""How long in a row?"""

from dataclasses import dataclass
from functools import cached_property

from panprivacy.formats.parameters import described
from panprivacy.statistics.events.automaton import Automaton
from panprivacy.statistics.events.derived import Curve, Form, Ratio
from panprivacy.statistics.events.questions.interface import (
    OneEventParameters,
    cells_from,
    steps_text,
)
from panprivacy.statistics.events.regular import Question, RegularQuestion


@dataclass(frozen=True, kw_only=True)
class LongestStreakParameters(OneEventParameters):
    """The longest run that has an answer of its own."""

    longest: int = described(
        label="Longest run",
        help="Runs of this many steps in a row, and longer ones, are one answer.",
        minimum=2,
        maximum=22,
        suggested=5,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.question.require_short("longest")

    @cached_property
    def question(self) -> Question:
        """States (b, c): the longest run so far, and the current one; b = `longest` is final. A step without
        the event ends the current run."""
        longest = self.longest
        pairs = [(b, c) for b in range(longest) for c in range(b + 1)]
        numbers = {pair: number for number, pair in enumerate(pairs)}
        final = len(pairs)
        on, otherwise = [], []
        for b, c in pairs:
            run = c + 1
            on.append(final if run == longest else numbers[max(b, run), run])
            otherwise.append(numbers[b, 0])
        cells = longest + 1
        ratios = tuple(
            Ratio(
                f"at_least_{run}",
                f"{steps_text(run)} in a row or more",
                cells_from(run, cells),
                cells_from(0, cells),
            )
            for run in range(1, cells)
        )
        return Question(
            automaton=Automaton(start=0, on=((*on, final),), otherwise=(*otherwise, final)),
            cells=(*(b for b, _ in pairs), longest),
            labels=(
                "never",
                *(f"{steps_text(run)} in a row" for run in range(1, longest)),
                f"{steps_text(longest)} in a row or more",
            ),
            ratios=ratios,
            answer=(
                ("at_least_1", f"{{}} had {self.event}"),
                (f"at_least_{longest}", f"{{}} had it in {steps_text(longest)} in a row or more"),
            ),
            curve=Curve(
                form=Form.BARS,
                unit="% of all devices",
                ratios=tuple(one.name for one in ratios),
                places=tuple(str(run) for run in range(1, cells)),
                across="steps in a row, or more",
            ),
        )


class LongestStreak(RegularQuestion[LongestStreakParameters]):
    """The longest run of steps with the event."""

    statistic = "longest_streak"
    title = "Longest streak"
    description = "Estimates on how many devices the longest run of steps with the event was 0, 1, 2, …"
    parameters_class = LongestStreakParameters
