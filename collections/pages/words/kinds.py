"""The kinds of statistic: how each is offered, and what its form is about."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.mechanisms import MECHANISMS
from panprivacy.shuffle import SHUFFLE_STATISTICS
from panprivacy.statistic import Statistic
from panprivacy.streams import STREAM_STATISTICS
from panprivacy.streams.parameters import NUMBERED
from panprivacy.trust import Trust
from panprivacy.trust_models import trusts_of

Groups = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Kind:
    """Statistics that are collected in one way.

    Attributes:
        key: names it in addresses and templates.
        title, summary: how it is offered, beside others.
        statistics: registered name → class.
        trusts: the trust models to choose from.
        groups: headings of the form with the fields below each; `*` stands for what only the chosen
            statistic has.
        help: field → what is said of it in the form.
        suggested: field → where a new recipe starts, or as near as is allowed, where not as everywhere.
        reader: what those read against whom a budget protects, as an object.
        replacement: what is replaced by what, where a budget speaks of replacement.
        senders: whose contributions are collected, in the plural.
        public: what becomes public of a recipe, as a heading.
        about_population: what its population is, in a sentence.
        published, closed: what follows once a recipe is published or closed, in a sentence.
    """

    key: str
    title: str
    summary: str
    statistics: Mapping[str, type[Statistic[Any]]]
    trusts: tuple[Trust, ...]
    groups: Groups
    help: Mapping[str, str]
    suggested: Mapping[str, float | str]
    reader: str
    replacement: str
    senders: str
    public: str
    about_population: str
    published: str
    closed: str


PART_OF_DELTA = "0.0000001"
"""A δ with which several recipes fit the usual budget's δ of 10⁻⁶: what is proved of these statistics may
fail altogether, with probabilities that add up."""

_DEVICES_ASKED = (
    "Which devices are asked. Recipes that ask the same ones share a privacy budget: its ε and δ hold "
    "against whoever reads every combined result, under replacement."
)
_RESULTS_ONLY = "every combined result and nothing else"

_ONE_HISTORY = "one device's whole history by any other, while no other device colludes with that reader"

DEVICES = Kind(
    key="devices",
    title="Ask devices over a time",
    summary="Each device follows for some days whether something happens. What it keeps is encrypted, so "
    "that even somebody who opens it cannot read it; in the end it sends one scrambled answer.",
    statistics=MECHANISMS,
    trusts=(Trust.SINGLE_SERVER, Trust.TWO_SERVER),
    groups=(
        ("The question", ("name", "question")),
        ("What a device counts", ("steps", "step_seconds", "*")),
        ("Privacy", ("epsilon", "delta", "aggregator_epsilon")),
        ("Whom devices must trust", ("trust",)),
        ("Who takes part", ("population", "population_size", "sampling_rate", "cohort_size")),
        ("When, and how it is encrypted", ("opens_at", "closes_at", "encryption")),
    ),
    help={
        "population": _DEVICES_ASKED,
        "closes_at": "Leave empty for one day after the last step.",
        "encryption": "How devices encrypt what they keep and send.",
    },
    suggested={"cohort_size": 1_000},
    reader=_RESULTS_ONLY,
    replacement=_ONE_HISTORY,
    senders="devices",
    public="What devices will be told",
    about_population="Which devices are asked.",
    published="Devices can take part from the opening time on.",
    closed="The result follows once every report is summed up.",
)

SHUFFLED = Kind(
    key="shuffled",
    title="Ask devices for one value, through a shuffler",
    summary="Each device sends its value at once, in messages that a shuffler mixes with those of all others "
    "before this server reads them. Far more precise than scrambled answers, as long as the shuffler and "
    "this server do not work together.",
    statistics=SHUFFLE_STATISTICS,
    trusts=(Trust.SHUFFLER,),
    groups=(
        ("The question", ("name", "question")),
        ("What a device sends", ("k", "*")),
        ("Privacy", ("epsilon", "delta")),
        ("Whom devices must trust", ("trust",)),
        ("Who takes part", ("population", "cohort_size")),
        ("When, and how it is encrypted", ("opens_at", "closes_at", "encryption")),
    ),
    help={
        "population": _DEVICES_ASKED,
        "closes_at": "Leave empty for one day after it opens. It closes by itself once the batch is full.",
        "encryption": "How devices encrypt their messages to this server.",
    },
    # With few values, the number of different ones says nothing; with many, uniformity needs more users.
    suggested={"cohort_size": 10_000, "k": 200, "alpha": 0.2, "delta": PART_OF_DELTA},
    reader=_RESULTS_ONLY,
    replacement=_ONE_HISTORY,
    senders="devices",
    public="What devices will be told",
    about_population="Which devices are asked.",
    published="Devices can take part from the opening time on, until the batch is full.",
    closed="If the batch is full, the result follows once its messages are mixed and counted.",
)

STREAMS = Kind(
    key="streams",
    title="Count items as they come",
    summary="Items come to this server as they arise: visits, sales, lines of a log. Each is folded into a "
    "noisy table at once and forgotten. Somebody who copies the table learns little about any one item.",
    statistics=STREAM_STATISTICS,
    trusts=(Trust.CURATOR,),
    groups=(
        ("The question", ("name", "question")),
        ("What is counted", ("items", "universe_size", "*", "table_size")),
        ("Privacy", ("epsilon", "delta", "announced_intrusions")),
        ("Whom to trust", ("trust",)),
        ("Whose items, and when", ("population", "opens_at", "closes_at")),
    ),
    help={
        "population": "Whose items are counted. Recipes about the same ones share a privacy budget: its ε "
        "and δ hold against whoever reads every result and what is kept at every look, one item's history "
        "against any other.",
        "closes_at": "Leave empty for one day after it opens.",
    },
    suggested={
        "epsilon": 0.5,
        "delta": PART_OF_DELTA,
        "items": NUMBERED,
        "universe_size": 100_000,
        "table_size": 100_000,
    },
    reader="every combined result, and what is kept here at every announced look that a recipe allows and "
    "once by surprise",
    replacement="one item's whole history by any other",
    senders="sources",
    public="What will be public",
    about_population="Whose items are counted.",
    published="Items are taken in from the opening time on.",
    closed="No further item is taken in; the result is computed from what is kept.",
)

KINDS = (DEVICES, SHUFFLED, STREAMS)
"""In the order in which they are offered."""

_BY_TRUST = {trust: kind for kind in KINDS for trust in kind.trusts}


def kind_of(statistic: type[Statistic[Any]]) -> Kind:
    """The kind of a statistic."""
    return _BY_TRUST[trusts_of(statistic)[0]]
