"""Devices that follow events over a time."""

from pages.kinds.interface import DEVICES_ASKED, ONE_HISTORY, RESULTS_ONLY, Kind
from pages.publish.device_preview import preview_of_devices
from pages.words.plan import planned_of_devices
from panprivacy.statistics.device_input import DeviceInput

_SENT = "Each device notes for {duration} whether something happens, and then sends one scrambled answer."

DEVICES = Kind(
    key="devices",
    title="Ask devices over a time",
    summary=f"{_SENT.format(duration='some days')} Its notes are encrypted: even someone who opens the "
    "device cannot read them.",
    sent=_SENT,
    collected={
        "count_nonzero": "whether the event happened",
        "histogram": "how often the event happened",
        "mean": "how often the event happened",
        "funnel": "how many of the events happened, in their order",
        "retention": "until which period the event came back",
        "time_to_first": "within which time the event first happened",
        "longest_streak": "the longest run of steps with the event",
        "both": "which of the events happened",
        "automaton": "in which group of states the automaton ended",
        "*": "the answer about the event",
    },
    device_input=DeviceInput.EVENTS,
    groups=(
        ("The question", ("name", "question", "event", "event_definition", "labels", "segments")),
        ("What a device counts", ("steps", "step_seconds", "*")),
        ("Privacy", ("epsilon", "delta", "aggregator_epsilon")),
        ("Whom devices must trust", ("trust", "bundle")),
        ("Who may report, and how", ("admission", "relay", "hpke")),
        (
            "Who takes part",
            (
                *("population", "population_size", "sampling_rate", "cohort_size"),
                *("hidden_count", "target", "smallest_target", "target_margin"),
            ),
        ),
        ("When, and how it is encrypted", ("opens_at", "closes_at", "encryption")),
    ),
    help={
        "population": DEVICES_ASKED,
        "closes_at": "Leave empty for one day after the last step.",
        "encryption": "How devices encrypt what they keep and send.",
    },
    suggested={"cohort_size": 1_000},
    reader=RESULTS_ONLY,
    replacement=ONE_HISTORY,
    senders="devices",
    public="What devices will see",
    about_population="Which devices are asked.",
    published="Devices can take part from the opening time on.",
    closed="The result follows once every report is added up.",
    preview=preview_of_devices,
    shows_planned=planned_of_devices,
)
