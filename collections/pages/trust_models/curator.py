"""What pages say of a curator."""

from pages.trust_models.interface import Adversary, Observers, ShownTrustModel, no_partner
from pages.words.parameters_table import ParameterRow
from panprivacy.accounting.guarantees import Model
from panprivacy.trust import Trust
from panprivacy.trust_models.curator import Curator


def _digests(servers: Curator) -> tuple[ParameterRow, ...]:
    return (
        ParameterRow(
            label="Digest of the sample",
            value=servers.sample_digest.hex(),
            help="SHA-256 of the sample of items that have a cell, drawn under a random key before any item "
            "came; the curator is bound to it.",
            derived=False,
        ),
    )


CURATOR = ShownTrustModel(
    trust=Trust.CURATOR,
    title="A curator: this server sees every item",
    summary="Items come to this server as they are. Each is folded into a table of random bits or counters "
    "at once, and never written down. The table is noisy while it is being filled, not only when it "
    "is published: who copies it, or seizes it, learns little about any one item.",
    publishing="An empty table is drawn for it, at random",
    meaning="This server sees every item as it comes, and keeps a noisy table only.",
    summing="The result is being computed from the table.",
    waiting="How many items have come is not kept, and nothing is estimated before it is closed: every "
    "estimate would be one more look at the table.",
    deleted="The table and its keys are deleted: nobody can look any more.",
    adversaries=(
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
    observers=Observers(
        headings={Model.AGGREGATOR: "Someone who sees only the result"},
        subject="one item",
        aggregator="Whoever sees only the result",
        mixed="",
    ),
    verifying="whoever sends items can check it beforehand.",
    joining="Send items",
    simulated="A simulation brings its own items.",
    counted="",
    hides_failed_checks=False,
    partner_shown=no_partner,
    digests_shown=_digests,
)
