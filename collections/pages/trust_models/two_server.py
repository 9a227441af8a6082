"""Texts of pages about two servers."""

from pages.trust_models.interface import (
    BOTH_SERVERS,
    INTRUDER,
    INTRUDER_WITH_BOTH,
    UNTIL_COHORT,
    Adversary,
    Observers,
    PartnerShown,
    ShownTrustModel,
)
from pages.trust_models.single_server import SINGLE_SERVER
from panprivacy.accounting.guarantees import Model
from panprivacy.accounting.trust import Trust
from panprivacy.formats import base64_text
from panprivacy.statistics.trust_models.two_server import TwoServers


def _helper(servers: TwoServers) -> PartnerShown:
    return PartnerShown(
        name="helper",
        url=servers.helper_url,
        role="Receives the other share of every report; signed this recipe too.",
        verification_key=base64_text.encode(servers.helper_verification_key),
        own_name="leader",
        own_url=servers.leader_url,
    )


TWO_SERVER = ShownTrustModel(
    trust=Trust.TWO_SERVER,
    title="Two servers",
    summary="Each server receives one share, which alone reveals nothing. Devices split every answer into "
    "these two random shares: one for this server, the leader, and one for the helper. Both check each "
    "report without reading it, and only the totals of their shares are put together.",
    receiver="the leader",
    own_role="Receives reports, keeps one share of each, and releases the result.",
    publishing="Leader and helper make the keys that it needs, the helper checks and signs it too",
    meaning="Every report is split between two servers, and neither can read it alone.",
    summing="Both servers verify the reports without reading them. Then each adds up its shares, and the two "
    "totals are put together.",
    waiting=UNTIL_COHORT,
    deleted="The reports, their totals and the private keys are deleted here. The helper deletes its own "
    "when it is notified, which is repeated until it answers.",
    adversaries=(
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
            unscrambled="can single out one device's answer, which it hardly scrambles here, and make the "
            "result wrong",
        ),
        INTRUDER,
        Adversary(
            "Someone who opens the device, with one server",
            "learns whether the event happened between two readings, or between one and the report; "
            "with a server that cheats, reads the true answer",
            False,
            opens_device=True,
        ),
        BOTH_SERVERS,
        INTRUDER_WITH_BOTH,
    ),
    kept=(
        (
            "Shares, identifiers of reports, totals and the recipe's private keys, at both servers",
            "until the result, or the end without one; at a helper that is not notified of the end, for 90 "
            "days unless set otherwise",
        ),
        (
            "The servers' own keys for reports (HPKE)",
            "for 14 days unless set otherwise, after operators replace them",
        ),
    ),
    breach="Until the result, an attacker who controls both servers reads each answer as its device sent it. "
    "One who controls a single server can single out one such answer.",
    observers=Observers(
        headings={
            **SINGLE_SERVER.observers.headings,
            Model.LOCAL: "Both servers together, who could put one device's report together",
            Model.AGGREGATOR: "Someone who sees only the combined result, or either server alone",
        },
        subject="one device",
        aggregator="Someone who sees only the combined result, or either server by itself,",
        mixed=SINGLE_SERVER.observers.mixed,
        local="Devices scramble answers before they split them into two shares. Someone with both servers' "
        "shares of one report",
        helped="unless one of the two servers helps them",
        betrayal="both servers together learn a device's answer nearly exactly, while the "
        "collection runs. That they do not is their promise.",
    ),
    counted="reports",
    needed="valid reports",
    failed_checks="We don't publish failed checks, and the number of reports only with noise: they would "
    "help someone who copied a device to read it. For the same reason a result takes some more valid "
    "reports than the cohort size.",
    noisy_count=True,
    partner_shown=_helper,
)
