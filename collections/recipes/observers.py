"""Who the observers of each guarantee are, in words, under each trust model."""

from collections.abc import Mapping
from dataclasses import dataclass

from panprivacy.accounting.guarantees import Model
from panprivacy.trust import Trust


@dataclass(frozen=True)
class Observers:
    """How sentences speak of those who are kept from learning.

    Attributes:
        headings: of each model, as a heading.
        local: who reads one report, and what devices did before, as the beginning of a sentence.
        aggregator: who reads the result, as the beginning of a sentence.
        helped: what lets an intruder read the state, as the end of a sentence.
        betrayal: what would disclose single answers where they are hardly scrambled.
    """

    headings: Mapping[Model, str]
    local: str
    aggregator: str
    helped: str
    betrayal: str


_SINGLE_SERVER = Observers(
    headings={
        Model.LOCAL: "Someone who reads one device's decrypted report",
        Model.AGGREGATOR: "Someone who sees only the combined result",
        Model.SAMPLED: "Someone who sees only the combined result, and not who took part",
        Model.SHUFFLE: "Someone who sees all reports in random order",
        Model.PAN: "Someone who opens the device",
    },
    local="Devices scramble answers before sending. Someone who reads one device's decrypted report",
    aggregator="Whoever sees only the combined result",
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
        local="Devices scramble answers before they split them into two shares. Whoever has both servers' "
        "shares of one report",
        aggregator="Whoever sees only the combined result, and either server by itself,",
        helped="unless one of the two servers helps them",
        betrayal="both servers together learn a device's answer nearly exactly. They could do so while the "
        "collection runs; that they do not is a promise of both.",
    ),
}
