"""Admission and transport of a recipe's reports, as rows of its table of parameters and in a sentence."""

from typing import Any

from pages.trust_models import SHOWN
from pages.words.parameters_table import ParameterRow
from panprivacy.formats import base64_text
from panprivacy.formats.display import sentence
from panprivacy.recipe.parts.admission import Admission, TokenAdmission
from panprivacy.statistics.trust_models import Servers
from web.numbers import number

WHO = {
    Admission.OPEN: (
        "Any sender, any number of reports",
        "Nothing limits how many reports one sender makes up.",
    ),
    Admission.TOKEN: (
        "Known devices, once each",
        "Each report needs a token. Each device that the attester knows gets one, and no server can tell "
        "whose it is.",
    ),
}

WITHOUT_TOKENS = (
    "Any device may report: an attacker who makes up many reports can fill the cohort, and learn more of the "
    "few others in it than ε says."
)
WITH_TOKENS = (
    "Reports need a token: an attacker cannot fill the cohort with made-up reports, unless the attester and "
    "the issuer work together, or many devices do."
)


def admission_sentence(admission: TokenAdmission | None, servers: type[Servers]) -> str:
    """What admission changes for those who report; empty if no device does."""
    if servers.report_format is None:
        return ""
    return WITHOUT_TOKENS if admission is None else WITH_TOKENS


def path_of_reports(relay: bool, servers: type[Servers]) -> tuple[str, str]:
    """How reports travel, as a heading, and who sees addresses, in a sentence."""
    receiver = SHOWN[servers.trust].receiver
    if relay:
        return "Through a relay only", f"It sees addresses and cannot read reports; {receiver} sees none."
    return f"Directly to {receiver}", sentence(f"{receiver} sees the address that a report comes from")


def issuer_key(admission: TokenAdmission | None) -> str:
    """The issuer's Ed25519 key as devices are given it; empty if any device may report."""
    return "" if admission is None else base64_text.encode(admission.issuer_key)


def who_and_how_rows(admission: Admission, relay: bool, servers: type[Servers]) -> list[ParameterRow]:
    """Of a draft; none if no device reports."""
    if servers.report_format is None:
        return []
    return [
        ParameterRow("Who may report", *WHO[admission], False),
        ParameterRow("How reports travel", *path_of_reports(relay, servers), False),
    ]


def admission_rows(published: Any, issued: int | None) -> list[ParameterRow]:
    """Of a published recipe.

    Args:
        published: its document.
        issued: how many tokens there were; None while it is not known.
    """
    admission: TokenAdmission | None = published.admission
    kind = Admission.OPEN if admission is None else Admission.TOKEN
    rows = who_and_how_rows(kind, published.relay is not None, type(published.servers))
    if published.relay is not None:
        rows.append(ParameterRow("Relay", published.relay, "Devices send by this address only.", False))
    if admission is not None:
        counted = "known after it has closed" if issued is None else number(issued)
        rows += [
            ParameterRow(
                "Attester",
                admission.attester_url,
                "Knows devices; does not see which recipe is meant.",
                False,
            ),
            ParameterRow(
                "Issuer",
                admission.issuer_name,
                "Signs tokens of this recipe; does not see which device asks. It signed the recipe.",
                False,
            ),
            ParameterRow(
                "Tokens issued",
                counted,
                "As the issuer signed. There can be no more reports than these.",
                False,
            ),
        ]
    return rows
