"""Which events go together?"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

from panprivacy.formats.parameters import described
from panprivacy.formats.structures import EventList
from panprivacy.statistics.events.automaton import Automaton
from panprivacy.statistics.events.derived import Contrast, Median, Ratio
from panprivacy.statistics.events.questions.interface import EventsParameters, cells_from
from panprivacy.statistics.events.regular import Question, RegularQuestion


@dataclass(frozen=True, kw_only=True)
class BothParameters(EventsParameters):
    """The events whose combinations are counted."""

    events: tuple[str, ...] = described(
        label="Events", help="Names of 2 or 3 events, with commas between.", structure=EventList(2, 3)
    )

    @cached_property
    def question(self) -> Question:
        """State: which of the events happened, the first name as the lowest bit."""
        states = 1 << len(self.events)
        on = tuple(tuple(state | 1 << place for state in range(states)) for place in range(len(self.events)))
        having = [
            frozenset(state for state in range(states) if state >> place & 1)
            for place in range(len(self.events))
        ]
        everybody = cells_from(0, states)
        ratios = [
            Ratio(f"share_{place + 1}", name, having[place], everybody)
            for place, name in enumerate(self.events)
        ]
        others: list[Contrast | Median] = []
        for (a, first), (b, second) in product(enumerate(self.events), repeat=2):
            if a == b:
                continue
            pair = f"{a + 1}_with_{b + 1}"
            ratios += [
                Ratio(pair, f"{first} with {second}", having[a] & having[b], having[b]),
                Ratio(
                    f"{a + 1}_without_{b + 1}",
                    f"{first} without {second}",
                    having[a] - having[b],
                    everybody - having[b],
                ),
            ]
            others.append(
                Contrast(
                    f"{pair}_difference",
                    f"{first}: difference with and without {second}",
                    pair,
                    f"{a + 1}_without_{b + 1}",
                )
            )
            if a < b:
                others.append(
                    Contrast(
                        f"{pair}_odds",
                        f"Odds ratio of {first} and {second}",
                        pair,
                        f"{a + 1}_without_{b + 1}",
                        odds=True,
                    )
                )
        return Question(
            automaton=Automaton(start=0, on=on),
            cells=tuple(range(states)),
            labels=tuple(_combination(self.events, state) for state in range(states)),
            ratios=tuple(ratios),
            others=tuple(others),
            answer=(
                *((f"share_{place + 1}", f"{{}} had {name}") for place, name in enumerate(self.events)),
                ("1_with_2", f"of those with {self.events[1]}, {{}} had {self.events[0]}"),
            ),
        )


def _combination(events: tuple[str, ...], state: int) -> str:
    names = [name for place, name in enumerate(events) if state >> place & 1]
    if len(names) == 1:
        return f"only {names[0]}"
    return " and ".join(names) or "none of them"


class Both(RegularQuestion[BothParameters]):
    """Which of a few events devices had."""

    statistic = "both"
    title = "Which events go together"
    description = "Estimates how many devices had each combination of 2 or 3 events."
    parameters_class = BothParameters
