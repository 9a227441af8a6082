"""Devices with one value each, which they scramble themselves."""

from pages.kinds.interface import DEVICES_ASKED, RESULTS_ONLY, Kind
from pages.publish.device_preview import preview_of_devices
from pages.words.plan import planned_of_devices
from panprivacy.statistics.device_input import DeviceInput

_SENT = "Each device scrambles its value and sends it at once, keeping nothing."

RANDOMIZED = Kind(
    key="randomized",
    title="Ask devices for one value, scrambled on the device",
    summary=f"{_SENT} With two servers, each gets one half of every report, and together "
    "they check it unread.",
    sent=_SENT,
    collected={"vector_mean": "the vector of the device", "*": "the category of the device"},
    device_input=DeviceInput.RANDOMIZED,
    groups=(
        ("The question", ("name", "question", "event", "event_definition", "labels")),
        ("What a device sends", ("k", "*")),
        ("Privacy", ("epsilon", "delta", "aggregator_epsilon")),
        ("Whom devices must trust", ("trust",)),
        ("Who may report, and how", ("admission", "relay", "hpke")),
        (
            "Who takes part",
            (
                *("population", "population_size", "sampling_rate", "cohort_size"),
                *("target", "smallest_target", "target_margin"),
            ),
        ),
        ("When, and how it is encrypted", ("opens_at", "closes_at", "encryption")),
    ),
    help={
        "population": DEVICES_ASKED,
        "closes_at": "Leave empty for one day after it opens.",
        "encryption": "How devices encrypt their reports to a single server. Two servers need none.",
    },
    suggested={
        "cohort_size": 1_000,
        "epsilon": 2.0,
    },
    reader=RESULTS_ONLY,
    replacement="one device's value by any other, while no other device colludes with that reader",
    senders="devices",
    public="What devices will see",
    about_population="Which devices are asked.",
    published="Devices can take part from the opening time on.",
    closed="The result follows once every report is added up.",
    preview=preview_of_devices,
    shows_planned=planned_of_devices,
)
