"""Who the observers of each guarantee are, in words, under each trust model."""

from collections.abc import Mapping
from dataclasses import dataclass

from panprivacy.accounting.guarantees import Model
from panprivacy.trust import Trust


@dataclass(frozen=True)
class Observers:
    """How sentences speak of those who are kept from learning.

    Attributes:
        headings: of each model, as a heading; a curator's state has headings of its own
            (`curator_sentences`).
        subject: whom they want to know something about.
        local: who reads one report, and what devices did before, as the beginning of a sentence; empty
            where no guarantee speaks of them.
        aggregator: who reads the result, as the beginning of a sentence.
        mixed: who reads all reports in random order, as the beginning of a sentence.
        helped: what lets an intruder read a device's state, as the end of a sentence; likewise.
        betrayal: what would disclose single answers where they are hardly scrambled; likewise.
    """

    headings: Mapping[Model, str]
    subject: str
    aggregator: str
    mixed: str
    local: str = ""
    helped: str = ""
    betrayal: str = ""


_SINGLE_SERVER = Observers(
    headings={
        Model.LOCAL: "Someone who reads one device's decrypted report",
        Model.AGGREGATOR: "Someone who sees only the combined result",
        Model.SAMPLED: "Someone who sees only the combined result, and not who took part",
        Model.SHUFFLE: "Someone who sees all reports in random order",
        Model.PAN: "Someone who opens the device",
    },
    subject="one device",
    aggregator="Whoever sees only the combined result",
    mixed="Whoever sees every report of a cohort, in random order and without senders,",
    local="Devices scramble answers before sending. Someone who reads one device's decrypted report",
    helped="unless they hold the server's key",
    betrayal="whoever decrypts one device's report learns its answer nearly exactly. The server could do so "
    "while the collection runs; that it does not is a promise.",
)

OBSERVERS: Mapping[Trust, Observers] = {
    Trust.SINGLE_SERVER: _SINGLE_SERVER,
    Trust.TWO_SERVER: Observers(
        headings={
            **_SINGLE_SERVER.headings,
            Model.LOCAL: "Both servers together, who could put one device's report together",
            Model.AGGREGATOR: "Someone who sees only the combined result, or either server alone",
        },
        subject="one device",
        aggregator="Whoever sees only the combined result, and either server by itself,",
        mixed=_SINGLE_SERVER.mixed,
        local="Devices scramble answers before they split them into two shares. Whoever has both servers' "
        "shares of one report",
        helped="unless one of the two servers helps them",
        betrayal="both servers together learn a device's answer nearly exactly. They could do so while the "
        "collection runs; that they do not is a promise of both.",
    ),
    Trust.SHUFFLER: Observers(
        headings={
            Model.AGGREGATOR: "Someone who sees only the result",
            Model.SHUFFLE: "This server, which reads all messages in random order",
        },
        subject="one device",
        aggregator="Whoever sees only the result",
        mixed="Whoever reads all messages of a full batch, in random order and without senders, as this "
        "server does,",
    ),
    Trust.CURATOR: Observers(
        headings={Model.AGGREGATOR: "Someone who sees only the result"},
        subject="one item",
        aggregator="Whoever sees only the result",
        mixed="",
    ),
}
