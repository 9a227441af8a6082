"""Devices that send one value through a shuffler."""

from pages.kinds.interface import DEVICES_ASKED, ONE_HISTORY, PART_OF_DELTA, RESULTS_ONLY, Kind
from pages.publish.shuffle_preview import preview_of_shuffle
from pages.words.plan import planned_of_shuffle
from panprivacy.statistics.device_input import DeviceInput

_SENT = (
    "Each device sends its value at once. A shuffler mixes the messages of all devices before this server "
    "reads them."
)

SHUFFLED = Kind(
    key="shuffled",
    title="Ask devices for one value, through a shuffler",
    summary=f"{_SENT} This is far more precise than scrambled answers, as long as the shuffler and this "
    "server do not work together.",
    sent=_SENT,
    collected={"*": "the value of the device"},
    device_input=DeviceInput.VALUE,
    groups=(
        ("The question", ("name", "question", "event", "event_definition", "labels")),
        ("What a device sends", ("k", "*")),
        ("Privacy", ("epsilon", "delta")),
        ("Whom devices must trust", ("trust",)),
        ("Who may report, and how", ("admission", "relay", "hpke")),
        ("Who takes part", ("population", "cohort_size")),
        ("When, and how it is encrypted", ("opens_at", "closes_at", "encryption")),
    ),
    help={
        "population": DEVICES_ASKED,
        "closes_at": "Leave empty for one day after it opens. It closes by itself once the batch is full.",
        "encryption": "How devices encrypt their messages to this server.",
    },
    # With few values, the number of different ones is no evidence; with many, uniformity needs more users.
    suggested={"cohort_size": 10_000, "k": 200, "alpha": 0.2, "delta": PART_OF_DELTA},
    reader=RESULTS_ONLY,
    replacement=ONE_HISTORY,
    senders="devices",
    public="What devices will see",
    about_population="Which devices are asked.",
    published="Devices can take part from the opening time on, until the batch is full.",
    closed="If the batch is full, the result follows once its messages are mixed and counted.",
    preview=preview_of_shuffle,
    shows_planned=planned_of_shuffle,
)
