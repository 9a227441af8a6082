"""Items that come to a curator."""

from pages.kinds.interface import PART_OF_DELTA, Kind
from pages.publish.stream_preview import preview_of_stream
from pages.recipe.stream_section import stream_section
from pages.words.plan import planned_of_stream
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.streams.parameters import NUMBERED

_SENT = (
    "Items come to this server as they arise: visits, sales, lines of a log. Each changes a noisy table at "
    "once and is forgotten. Someone who copies the table learns little about any one item."
)

STREAMS = Kind(
    key="streams",
    title="Count items as they come",
    summary=_SENT,
    sent=_SENT,
    collected={"*": "the item"},
    device_input=DeviceInput.ITEMS,
    groups=(
        ("The question", ("name", "question", "event", "event_definition", "labels")),
        ("What is counted", ("items", "universe_size", "*", "table_size")),
        ("Privacy", ("epsilon", "delta", "announced_intrusions")),
        ("Whom to trust", ("trust",)),
        ("Whose items, and when", ("population", "opens_at", "closes_at")),
    ),
    help={
        "population": "Whose items are counted. Recipes about the same items share a privacy budget. Its ε "
        "and δ hold against someone who reads every result and the state at every intrusion, under "
        "replacement of one item's history.",
        "closes_at": "Leave empty for one day after it opens.",
    },
    suggested={
        "epsilon": 0.5,
        "announced_intrusions": 0,
        "delta": PART_OF_DELTA,
        "items": NUMBERED,
        "universe_size": 100_000,
        "table_size": 100_000,
    },
    reader="every combined result, and the state at every announced intrusion that a recipe allows and once "
    "in secret",
    replacement="one item's whole history by any other",
    senders="sources",
    public="What will be public",
    about_population="Whose items are counted.",
    published="Items are accepted from the opening time on.",
    closed="No further item is accepted; the result is computed from the state.",
    preview=preview_of_stream,
    shows_planned=planned_of_stream,
    section=stream_section,
)
