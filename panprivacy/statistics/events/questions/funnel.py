"""Where do people stop?"""

from dataclasses import dataclass
from functools import cached_property

from panprivacy.formats.parameters import described
from panprivacy.formats.structures import EventList
from panprivacy.statistics.events.automaton import Automaton
from panprivacy.statistics.events.derived import Curve, Form, Ratio
from panprivacy.statistics.events.questions.interface import EventsParameters, cells_from
from panprivacy.statistics.events.regular import Question, RegularQuestion


@dataclass(frozen=True, kw_only=True)
class FunnelParameters(EventsParameters):
    """The events of a funnel, in their order."""

    events: tuple[str, ...] = described(
        label="Events",
        help="Names of 2 to 6 events in the order in which people go through them, with commas between.",
        structure=EventList(2, 6),
    )

    @cached_property
    def question(self) -> Question:
        """State i: the first i events happened, in order. The i-th event leads from i − 1 to i."""
        stages = len(self.events)
        states = stages + 1
        stay = list(range(states))
        on = tuple((*stay[:i], i + 1, *stay[i + 1 :]) for i in range(stages))
        everybody = cells_from(0, states)
        reached = [
            Ratio(f"reached_{i}", self.events[i - 1], cells_from(i, states), everybody)
            for i in range(1, states)
        ]
        conversions = [
            Ratio(
                f"reached_{i}_of_{i - 1}",
                f"{self.events[i - 1]} of those with {self.events[i - 2]}",
                cells_from(i, states),
                cells_from(i - 1, states),
            )
            for i in range(2, states)
        ]
        labels = ("none of them", *(_up_to(self.events, i) for i in range(1, stages)), "all in order")
        return Question(
            automaton=Automaton(start=0, on=on),
            cells=tuple(range(states)),
            labels=labels,
            ratios=(*reached, *conversions),
            answer=(
                ("reached_1", f"{{}} had {self.events[0]}"),
                *(
                    (one.name, f"of those {{}} had {name}")
                    for one, name in zip(conversions, self.events[1:], strict=True)
                ),
            ),
            curve=Curve(
                form=Form.BARS,
                unit="% of all devices",
                ratios=tuple(one.name for one in reached),
                places=self.events,
                before=("", *(one.name for one in conversions)),
            ),
        )


def _up_to(events: tuple[str, ...], reached: int) -> str:
    return f"as far as {events[reached - 1]}"


class Funnel(RegularQuestion[FunnelParameters]):
    """How far devices get in a sequence of events."""

    statistic = "funnel"
    title = "Funnel: where people stop"
    description = (
        "Estimates how many devices had the first event, then the second one, and so on. Other events in "
        "between do not matter."
    )
    parameters_class = FunnelParameters
