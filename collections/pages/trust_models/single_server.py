"""Texts of pages about one server."""

from pages.trust_models.interface import (
    INTRUDER,
    UNTIL_COHORT,
    Adversary,
    Observers,
    ShownTrustModel,
    no_partner,
)
from panprivacy.accounting.guarantees import Model
from panprivacy.accounting.trust import Trust

SINGLE_SERVER = ShownTrustModel(
    trust=Trust.SINGLE_SERVER,
    title="One server",
    summary="This server receives and decrypts every report.",
    receiver="this server",
    own_role="Receives and decrypts every report; releases the result.",
    publishing="A key pair is made for it",
    meaning="One server decrypts the reports.",
    summing="The reports are being decrypted and added up.",
    waiting=UNTIL_COHORT,
    deleted="The reports, their totals and the private key are deleted.",
    adversaries=(
        Adversary(
            "This server alone",
            "reads each answer, scrambled by the device (the local guarantee)",
            False,
            unscrambled="reads each answer, which the device hardly scrambles here",
        ),
        INTRUDER,
        Adversary(
            "A device that sends an invalid report",
            "moves the result as one dishonest device does: a random valid answer counts instead",
            True,
        ),
        Adversary(
            "Someone who opens the device, with this server",
            "reads the true answer",
            False,
            opens_device=True,
        ),
    ),
    kept=(
        (
            "Encrypted reports",
            "until they are added up; in object storage until some minutes after the result",
        ),
        ("Nonces of reports, keyed hashes of them, and totals", "until the result, or the end without one"),
        ("The private key of the recipe", "until the result, or the end without one"),
    ),
    breach="Until the result, an attacker with this server's private key reads each report that reaches it: "
    "the answer as its device sent it.",
    observers=Observers(
        headings={
            Model.LOCAL: "Someone who reads one device's decrypted report",
            Model.AGGREGATOR: "Someone who sees only the combined result",
            Model.SAMPLED: "Someone who sees only the combined result, and not who took part",
            Model.COUNT: "Someone who sees only the number of reports",
            Model.SHUFFLE: "Someone who sees all reports in random order",
            Model.PAN: "Someone who opens the device",
        },
        subject="one device",
        aggregator="Someone who sees only the combined result",
        mixed="Someone who sees every report of a cohort, in random order and without senders,",
        excepted="For anyone but this server.",
        local="Devices scramble answers before sending. Someone who reads one device's decrypted report",
        helped="unless they hold the server's key",
        betrayal="anyone who decrypts one device's report learns its answer nearly exactly. The server could "
        "do so while the collection runs; that it does not is a promise.",
    ),
    counted="reports",
    failed_checks="A report that decrypts to what no device sends is replaced by a random valid one, and "
    "counts. How many were is not shown: that would help someone who copied a device to read it.",
    partner_shown=no_partner,
)
