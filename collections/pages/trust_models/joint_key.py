"""Texts of pages about two servers with half a key each."""

from dataclasses import replace

from pages.trust_models.interface import (
    BOTH_SERVERS,
    INTRUDER_WITH_BOTH,
    UNTIL_COHORT,
    Adversary,
    PartnerShown,
    ShownTrustModel,
)
from pages.trust_models.two_server import TWO_SERVER
from panprivacy.accounting.guarantees import Model
from panprivacy.accounting.trust import Trust
from panprivacy.formats import base64_text
from panprivacy.statistics.trust_models.joint_key import JointKeyServers

EXPERIMENTAL = "Experimental: its proof of security has had no outside review."


def _helper(servers: JointKeyServers) -> PartnerShown:
    return PartnerShown(
        name="helper",
        url=servers.helper_url,
        role="Holds half of the key and checks every report; signed this recipe too.",
        verification_key=base64_text.encode(servers.helper_verification_key),
        own_name="leader",
    )


JOINT_KEY = ShownTrustModel(
    trust=Trust.JOINT_KEY,
    title="Two servers with one joint key (experimental)",
    summary="No server decrypts a report, and others can recompute the result. Devices encrypt one bit, with "
    "a proof that it is one. This server, the leader, and the helper hold half of the key each. Both check "
    f"every proof, and decrypt only the total. {EXPERIMENTAL} Quantum computers could break its "
    "encryption.",
    receiver="the leader",
    own_role="Receives and checks reports, holds half of the key, and releases the result.",
    publishing="Leader and helper make half of its key each, the helper checks and signs it too",
    meaning="Two servers decrypt the total of all reports together, and no single report.",
    summing="Both servers check the proofs of all reports and sign the list. Then they decrypt the total.",
    waiting=UNTIL_COHORT,
    deleted="The reports, their total and half of the key are deleted here. The helper deletes its half when "
    "it is notified, which is repeated until it answers.",
    adversaries=(
        Adversary(
            "One server alone, even one that cheats",
            "reads no report, and cannot miscount the listed ones: others can recompute the result",
            True,
        ),
        Adversary(
            "One server that leaves out reports, or refuses",
            "can change the result, or prevent it",
            False,
        ),
        Adversary(
            "Someone who opens the device, again and again, with one server",
            "cannot read there whether the event happened",
            True,
            opens_device=True,
        ),
        Adversary(
            "A device that sends an invalid report",
            "is found by its proof, and not counted",
            True,
        ),
        Adversary(
            "Someone who may recompute the result",
            "sees encryptions, and which are valid; a later quantum computer could decrypt them",
            True,
        ),
        Adversary(
            "Someone who copies a device's state, and has tokens",
            "can add the copied answer once more for each token, behind all others' noise",
            False,
            opens_device=True,
        ),
        BOTH_SERVERS,
        INTRUDER_WITH_BOTH,
    ),
    kept=(
        (
            "Encrypted reports with their tokens, at this site and at all who fetch them",
            "for good if there is a result; else until the end",
        ),
        (
            "Half of the key, at each server",
            "until the result, or the end without one; at a helper that is not notified of the end, for 90 "
            "days unless set otherwise",
        ),
    ),
    breach="Until the result, an attacker who controls both servers reads each answer as its device sent it. "
    "One who controls a single server reads none. Later quantum computers could decrypt kept reports.",
    observers=replace(
        TWO_SERVER.observers,
        headings={
            **TWO_SERVER.observers.headings,
            Model.LOCAL: "Both servers together, who could decrypt one device's report",
            Model.PAN: "Someone who opens the device, with one of the servers too",
        },
        local="Devices scramble answers before they encrypt them. Someone who decrypts one report with both "
        "halves of the key",
        helped="unless both servers help them",
    ),
    counted="reports",
    encryption="ElGamal on BLS12-381, with Groth–Sahai proofs",
    needed="valid reports",
    failed_checks="A report whose proof does not hold is not counted. Whether it holds says nothing about "
    "the answer in it.",
    partner_signs="The helper signed the list of these reports.",
    experimental=EXPERIMENTAL,
    partner_shown=_helper,
)
