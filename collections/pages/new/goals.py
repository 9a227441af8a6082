"""The goals that analysts begin with."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Goal:
    """What an analyst wants to know.

    Attributes:
        key: the last part of its address.
        question: as analysts would ask it.
        example: a result with the margin that the values filled in give, as a sentence.
        lead: what its form sets up, as a sentence.
        statistic: the registered name of the statistic that answers it.
        fields: of the form, in their order; all others are folded away.
        labels: field → its label, if that differs from the usual one.
        weekly: whether it is asked every week, as a series.
    """

    key: str
    question: str
    example: str
    lead: str
    statistic: str
    fields: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    weekly: bool = False

    @property
    def required(self) -> frozenset[str]:
        """Fields that may stay empty otherwise."""
        return frozenset(self.fields) & {"event", "segments"}


_COLLECTION = ("population", "population_size", "cohort_size", "epsilon")
_DAYS = {"steps": "Days that a device counts"}

GOALS = {
    goal.key: goal
    for goal in (
        Goal(
            key="devices",
            question="How many devices had it?",
            example="942 ± 190 of 10,000 devices crashed at least once.",
            lead="Counts the devices on which an event happened at least once.",
            statistic="count_nonzero",
            fields=("question", "event", "steps", *_COLLECTION),
            labels=_DAYS,
        ),
        Goal(
            key="trend",
            question="Is it up or down, week by week?",
            example="Up by 9.1 ± 6.4 percentage points since last week.",
            lead="Counts the devices on which an event happened, every week anew.",
            statistic="count_nonzero",
            fields=("question", "event", *_COLLECTION),
            weekly=True,
        ),
        Goal(
            key="segments",
            question="Which version is worse?",
            example="Version 2.1 is up by 22 ± 17 points; 2.0 shows no change beyond noise.",
            lead="Compares versions, or other parts of the population, every week anew.",
            statistic="count_nonzero",
            fields=("question", "event", "segments", *_COLLECTION),
            labels={"segments": "Versions"},
            weekly=True,
        ),
        Goal(
            key="funnel",
            question="Where do people stop?",
            example="Of 20,000 devices 41% ± 2 points opened search; of those 12% ± 2 points bought.",
            lead="Counts how far devices get in a sequence of events, in their order.",
            statistic="funnel",
            fields=("question", "events", "steps", *_COLLECTION),
            labels=_DAYS | {"events": "Events, in their order"},
        ),
        Goal(
            key="retention",
            question="Do they come back?",
            example="Of the devices of week 1, 38% ± 3 points are still there in week 4.",
            lead="Counts until which week devices with the event in the first week still have it.",
            statistic="retention",
            fields=("question", "event", "period_steps", "periods", *_COLLECTION),
            labels={"period_steps": "Days in a period"},
        ),
        Goal(
            key="category",
            question="Which category?",
            example="On 61% ± 2% of the devices the disk was full, on 27% ± 2% the network failed.",
            lead="Each device reports one of several categories.",
            statistic="categories",
            fields=("question", "event", "k", "labels", *_COLLECTION),
            labels={"k": "Number of categories", "labels": "Names of the categories"},
        ),
        Goal(
            key="average",
            question="How much on average?",
            example="3.42 ± 0.83 crashes per device.",
            lead="Averages how often an event happened on a device.",
            statistic="mean",
            fields=("question", "event", "steps", "k", *_COLLECTION),
            labels=_DAYS | {"k": "Most events that count"},
        ),
        Goal(
            key="model",
            question="Train a model",
            example="After 20 rounds the model is right for 87% of the test cases.",
            lead="Averages the updates of devices, so that a program can improve a model round by round.",
            statistic="vector_mean",
            fields=("question", "event", "dimension", *_COLLECTION),
        ),
    )
}
"""By their keys, in the order of the page."""
