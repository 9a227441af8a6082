"""Texts of pages about a shuffler in front of this server."""

from pages.trust_models.interface import Adversary, Observers, PartnerShown, ShownTrustModel
from panprivacy.accounting.guarantees import Model
from panprivacy.accounting.trust import Trust
from panprivacy.formats import base64_text
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer


def _shuffler(servers: ShufflerAndAnalyzer) -> PartnerShown:
    return PartnerShown(
        name="shuffler",
        url=servers.shuffler_url,
        role="Receives messages that it cannot read, and mixes them; signed this recipe too.",
        verification_key=base64_text.encode(servers.shuffler_verification_key),
    )


SHUFFLER = ShownTrustModel(
    trust=Trust.SHUFFLER,
    title="A shuffler and this server",
    summary="The shuffler mixes messages that it cannot read; this server reads them and cannot tell whose "
    "they are. Every device encrypts its messages for this server and sends them to the shuffler. It makes "
    "each look new, mixes those of all devices, and passes them on once exactly as many devices have sent "
    "as the recipe asks for. This server decrypts and counts them.",
    receiver="the shuffler",
    own_role="Reads the mixed messages; releases the result.",
    publishing="A key pair is made for it, the shuffler checks and signs it too",
    meaning="A shuffler mixes all messages before this server reads them.",
    summing="The shuffler mixes the full batch; then its messages are decrypted and counted.",
    waiting="The shuffler passes nothing on before exactly as many devices have sent as the recipe asks "
    "for. The count is shown in coarse steps, as the shuffler states it.",
    deleted="All messages here and the private key are deleted. The shuffler deletes its messages when it is "
    "notified, which is repeated until it answers.",
    adversaries=(
        Adversary(
            "This server alone",
            "reads all messages in random order; the guarantees state how little that tells about one device",
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
            "The shuffler and this server together, or this server if it reads what devices send there",
            "read each device's messages, and so its value, often with certainty: a value is hidden among "
            "those of others, not scrambled",
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
            "learns more about the others, the more of the batch is its own; the numbers with colluders "
            "state how much",
            False,
        ),
        Adversary(
            "Someone who opens the device",
            "finds what the device itself knows: nothing hides a value before it is sent, unlike reports "
            "that are kept encrypted",
            False,
        ),
    ),
    kept=(
        (
            "Messages at the shuffler, without address and time",
            "until this server has fetched them; a full batch that is not fetched, for 90 days unless set "
            "otherwise",
        ),
        (
            "Messages at this server, and the private key of the recipe",
            "until the result, or the end without one",
        ),
    ),
    breach="Until the result, an attacker with this server's key who also controls the shuffler, or copies "
    "what devices send, reads the messages of each device: mostly its true value.",
    observers=Observers(
        headings={
            Model.AGGREGATOR: "Someone who sees only the result",
            Model.SHUFFLE: "This server, which reads all messages in random order",
        },
        subject="one device",
        aggregator="Someone who sees only the result",
        mixed="Someone who reads all messages of a full batch, in random order and without senders, as this "
        "server does,",
    ),
    counted="devices",
    rejected="Messages",
    failed_checks="A message that no device sends is replaced by a random one, and counts.",
    needed="devices",
    partner_uncounted="it cannot read messages",
    partner_shown=_shuffler,
)
