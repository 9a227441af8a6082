"""Items that come to a curator."""

from pages.kinds.interface import PART_OF_DELTA, Kind
from pages.publish.stream_preview import preview_of_stream
from pages.recipe.stream_section import stream_section
from panprivacy.device_input import DeviceInput
from panprivacy.streams.parameters import NUMBERED

STREAMS = Kind(
    key="streams",
    title="Count items as they come",
    summary="Items come to this server as they arise: visits, sales, lines of a log. Each is folded into a "
    "noisy table at once and forgotten. Somebody who copies the table learns little about any one item.",
    device_input=DeviceInput.ITEMS,
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
    preview=preview_of_stream,
    section=stream_section,
)
