"""What each trust model protects against and what not, in words (docs/threat-model.md has the reasons)."""

from collections.abc import Mapping
from dataclasses import dataclass

from panprivacy.trust import Trust


@dataclass(frozen=True)
class Adversary:
    """One who wants to know a device's answer, and how far they get.

    Attributes:
        who: as a heading.
        learns: as the rest of a sentence that begins with them.
        protected: whether the model protects against them.
    """

    who: str
    learns: str
    protected: bool


@dataclass(frozen=True)
class TrustModel:
    """A trust model, ready to be shown.

    Attributes:
        title: as a heading.
        summary: who does what with reports, in sentences.
        publishing: how keys are made when a recipe is published, as a clause.
        meaning: what the choice is about, as a parameter of a recipe, in a sentence.
        summing: what becomes of the reports of a closed recipe, in a sentence.
        adversaries: whom it protects against and whom not.
    """

    trust: Trust
    title: str
    summary: str
    publishing: str
    meaning: str
    summing: str
    adversaries: tuple[Adversary, ...]


_INTRUDER = Adversary(
    "Someone who opens the device, again and again", "cannot read from it whether it happened", True
)

TRUST_MODELS: Mapping[Trust, TrustModel] = {
    model.trust: model
    for model in (
        TrustModel(
            Trust.SINGLE_SERVER,
            "One server",
            "This server takes every report in and decrypts it.",
            "A key pair is made for it",
            "One server decrypts the reports.",
            "The reports are being decrypted and added up.",
            (
                Adversary(
                    "This server alone",
                    "reads each answer, scrambled by the device (the local guarantee)",
                    False,
                ),
                _INTRUDER,
                Adversary("Someone who opens the device, with this server", "reads the true answer", False),
            ),
        ),
        TrustModel(
            Trust.TWO_SERVER,
            "Two servers",
            "Devices split every answer into two random shares. This server, the leader, adds up the "
            "ones and the helper the others; both check each report without reading it; only the sums meet.",
            "Leader and helper make a key pair each, the helper checks and signs it too",
            "Every report is split between two servers, and neither can read it alone.",
            "Both servers verify the reports without reading them, each adds up its shares, and then the two "
            "sums are put together.",
            (
                Adversary(
                    "One server alone that follows the protocol",
                    "sees random shares, which reports are valid, and the result",
                    True,
                ),
                Adversary(
                    "One server that cheats",
                    "can single out one device's answer, scrambled by the device (the local guarantee), "
                    "and make the result wrong",
                    False,
                ),
                _INTRUDER,
                Adversary(
                    "Someone who opens the device, with one server",
                    "learns whether it happened between two looks, or between a look and the report; "
                    "with a server that cheats, reads the true answer",
                    False,
                ),
                Adversary(
                    "Both servers together",
                    "read each answer, scrambled by the device (the local guarantee)",
                    False,
                ),
                Adversary("Someone who opens the device, with both servers", "reads the true answer", False),
            ),
        ),
    )
}
