"""Texts of pages about a curator."""

from pages.trust_models.interface import Adversary, Observers, ShownTrustModel, no_partner
from pages.words.parameters_table import ParameterRow
from panprivacy.accounting.guarantees import Model
from panprivacy.accounting.trust import Trust
from panprivacy.statistics.trust_models.curator import Curator


def _digests(servers: Curator) -> tuple[ParameterRow, ...]:
    return (
        ParameterRow(
            label="Digest of the sample",
            value=servers.sample_digest.hex(),
            help="SHA-256 of the sample of items that have a place, drawn with a random key before any "
            "item came. The curator cannot change it.",
            derived=False,
        ),
    )


CURATOR = ShownTrustModel(
    trust=Trust.CURATOR,
    title="A curator: this server sees every item",
    summary="This server sees every item, and keeps only a noisy table. Each item changes random bits or "
    "counters in it at once, and is never written down. The table is noisy while it is being filled, not "
    "only when the result is published: someone who copies or seizes it learns little about any one item.",
    receiver="this server",
    own_role="Receives and reads every item; keeps a noisy table, and releases the result.",
    publishing="An empty table is drawn for it, at random",
    meaning="This server sees every item as it comes, and keeps only a noisy table.",
    summing="The result is being computed from the table.",
    waiting="Nothing is estimated before it is closed: every estimate would read the table once more. "
    "The number of items is not kept.",
    deleted="The table and its keys are deleted.",
    adversaries=(
        Adversary(
            "Someone who copies or seizes what is kept here, once, without our noticing",
            "reads a noisy table, and perhaps the result later; the guarantees state how little both tell "
            "about one item",
            True,
        ),
        Adversary(
            "Someone to whom we show it, as announced",
            "reads the table too. A recipe limits the number of such readings; after each, everything is "
            "randomized again, which costs precision",
            True,
        ),
        Adversary("Someone who sees only the result", "reads a number with noise of its own", True),
        Adversary(
            "Someone who copies the table without our noticing, and sees it again later",
            "compares the two: if they differ, items came in between. The second time may also be an "
            "announced intrusion. No such table can prevent this",
            False,
        ),
        Adversary(
            "This server while it receives items, and anyone who controls it then",
            "sees every item and its sender. Its software forgets them at once; noise cannot enforce that",
            False,
        ),
        Adversary(
            "Someone who sends items here, or listens to a connection without encryption",
            "knows them anyway: keep logs of senders and proxies as short as the items are sensitive",
            False,
        ),
    ),
    kept=(
        ("Items", "not kept: each is forgotten once the table is changed"),
        (
            "The noisy table, its keys, and names of batches",
            "until the result, or the end without one; the key of an older table is erased within about "
            "a minute",
        ),
    ),
    breach="An attacker who controls this server while items come reads them and their senders. One who "
    "copies the table twice, by surprise, learns what came in between.",
    observers=Observers(
        headings={Model.AGGREGATOR: "Someone who sees only the result"},
        subject="one item",
        aggregator="Someone who sees only the result",
        mixed="",
    ),
    verifying="senders of items can check it beforehand.",
    joining="Send items",
    simulated="A simulation brings its own items.",
    counted="",
    partner_shown=no_partner,
    digests_shown=_digests,
)
