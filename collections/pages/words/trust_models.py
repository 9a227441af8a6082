"""What each trust model protects against and what not, in words (docs/threat-model.md has the reasons)."""

from collections.abc import Mapping
from dataclasses import dataclass

from panprivacy.trust import Trust


@dataclass(frozen=True)
class Adversary:
    """One who wants to know what a single device or item has contributed, and how far they get.

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
        summary: who does what with what is sent, in sentences.
        publishing: what is made when a recipe is published, as a clause.
        meaning: what the choice is about, as a parameter of a recipe, in a sentence.
        summing: what becomes of what a closed recipe collected, in a sentence.
        waiting: what an open recipe waits for, in a sentence.
        deleted: what is gone once nothing was released, as the beginning of a sentence.
        adversaries: whom it protects against and whom not.
        partner: the server beside this one that signs the recipe too, in a word; empty where there is none.
        counted: what progress is a number of; empty where nobody counts.
        needed: what a cohort consists of.
    """

    trust: Trust
    title: str
    summary: str
    publishing: str
    meaning: str
    summing: str
    waiting: str
    deleted: str
    adversaries: tuple[Adversary, ...]
    partner: str = ""
    counted: str = "reports"
    needed: str = "valid reports"


_UNTIL_COHORT = (
    "Shown in coarse steps: an exact live count would show every reader that one more device has joined. "
    "Who sends reports as well can count the others. Nothing is released before the cohort is full, and no "
    "partial estimates exist."
)

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
            _UNTIL_COHORT,
            "The reports, their sums and the private key are deleted: nobody can look any more.",
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
            _UNTIL_COHORT,
            "The reports, their sums and the private keys are deleted here; the helper deletes its own when "
            "it is told, and is told until it answers.",
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
            partner="helper",
        ),
        TrustModel(
            Trust.SHUFFLER,
            "A shuffler and this server",
            "Every device sends some messages, encrypted so that only this server can read them, to a "
            "shuffler. The shuffler cannot read them: it makes each look new, mixes those of all devices, "
            "and passes them on once exactly as many devices have sent as the recipe asks for. This server "
            "decrypts and counts them, and cannot tell whose they are.",
            "A key pair is made for it, the shuffler checks and signs it too",
            "A shuffler mixes all messages before this server reads them.",
            "The shuffler mixes the full batch; then its messages are decrypted and counted.",
            "Shown in coarse steps, as the shuffler tells it. It passes nothing on before exactly as many "
            "devices have sent as the recipe asks for.",
            "What came here and the private key are deleted; the shuffler deletes its messages when it is "
            "told, and is told until it answers.",
            (
                Adversary(
                    "This server alone",
                    "reads all messages in random order: how little that tells about one device, the "
                    "guarantees say",
                    True,
                ),
                Adversary(
                    "The shuffler alone",
                    "sees which addresses send, when and how much, but can read no message",
                    True,
                ),
                Adversary(
                    "Someone who watches the network",
                    "sees what the shuffler sees; a device sends as much whatever its value is, and copied "
                    "messages cannot be recognized among the mixed ones",
                    True,
                ),
                Adversary(
                    "The shuffler and this server together, or this server where it reads what devices send "
                    "there",
                    "read each device's messages, and so its value, often without any doubt: a value is "
                    "hidden among those of others, not scrambled",
                    False,
                ),
                Adversary(
                    "A shuffler that cheats",
                    "can make the result wrong, or mix one device's messages with those of devices that it "
                    "makes up, and learn from the result what this device sent",
                    False,
                ),
                Adversary(
                    "This server with devices of its own in the batch",
                    "learns the more about the others, the more of the batch are its own; the numbers with "
                    "colluders say how much",
                    False,
                ),
                Adversary(
                    "Someone who opens the device",
                    "finds there what the device itself knows: unlike with reports that are kept encrypted, "
                    "nothing hides a value before it is sent",
                    False,
                ),
            ),
            partner="shuffler",
            counted="devices",
            needed="devices",
        ),
        TrustModel(
            Trust.CURATOR,
            "A curator: this server sees every item",
            "Items come to this server as they are. Each is folded into a table of random bits or counters "
            "at once, and never written down. The table is noisy while it is being filled, not only when it "
            "is published: who copies it, or seizes it, learns little about any one item.",
            "An empty table is drawn for it, at random",
            "This server sees every item as it comes, and keeps a noisy table only.",
            "The result is being computed from the table.",
            "How many items have come is not kept, and nothing is estimated before it is closed: every "
            "estimate would be one more look at the table.",
            "The table and its keys are deleted: nobody can look any more.",
            (
                Adversary(
                    "Someone who copies or seizes what is kept here, once, without our noticing",
                    "reads a noisy table, and perhaps the result later: how little both tell about one item, "
                    "the guarantees say",
                    True,
                ),
                Adversary(
                    "Someone to whom we show it, as announced",
                    "reads the table too; after each such look everything is randomized again, which costs "
                    "precision, and a recipe allows only so many",
                    True,
                ),
                Adversary("Someone who sees only the result", "reads a number with noise of its own", True),
                Adversary(
                    "Someone who copies the table without our noticing, and sees it again later",
                    "compares the two: where they differ, items have come in between. This holds for a "
                    "second copy as for a later announced look, and no such table can prevent it",
                    False,
                ),
                Adversary(
                    "This server while it takes items in, and whoever controls it then",
                    "sees every item, and who sent it. That it forgets them at once is what its software "
                    "does, not what noise can enforce",
                    False,
                ),
                Adversary(
                    "Whoever sends items here, or listens where they are not encrypted on the way",
                    "knows them anyway: keep logs of senders and proxies as short as the items are sensitive",
                    False,
                ),
            ),
            counted="",
        ),
    )
}
