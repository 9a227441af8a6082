"""Texts of pages about a trust model (docs/threat-model.md has the reasons)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlsplit

from pages.words.certainty import HIDES_NOTHING
from pages.words.parameters_table import ParameterRow
from panprivacy.accounting.guarantees import Model
from panprivacy.accounting.trust import Trust
from panprivacy.statistics.device_input import DeviceInput


@dataclass(frozen=True)
class Adversary:
    """An adversary who wants to learn what a single device or item has contributed, and how far they get.

    Attributes:
        who: as a heading.
        learns: as the rest of a sentence that begins with them.
        protected: whether the model protects against them.
        opens_device: whether they read what a device keeps.
        unscrambled: the text in place of `learns` if devices hardly scramble answers; empty if that is no
            other.
    """

    who: str
    learns: str
    protected: bool
    opens_device: bool = False
    unscrambled: str = ""


@dataclass(frozen=True)
class Observers:
    """How sentences speak of those who are kept from learning.

    Attributes:
        headings: of each model, as a heading; a curator's state has headings of its own
            (`pages.words.curator_sentences`).
        subject: the device or item that they want to learn about.
        local: who reads one report, and what devices did before, as the beginning of a sentence; empty if no
            guarantee speaks of them.
        aggregator: who reads the result, as the beginning of a sentence.
        excepted: readers for whom statements about results do not hold, because they read more, in a
            sentence; empty if none is named.
        mixed: who reads all reports in random order, as the beginning of a sentence.
        helped: what lets an intruder read a device's state, as the end of a sentence; likewise.
        betrayal: what would disclose single answers if they are hardly scrambled; likewise.
    """

    headings: Mapping[Model, str]
    subject: str
    aggregator: str
    mixed: str
    local: str = ""
    excepted: str = ""
    helped: str = ""
    betrayal: str = ""


@dataclass(frozen=True)
class PartnerShown:
    """A server that signed the recipe too.

    Attributes:
        name: in a word, in lower case.
        url: its base address.
        own_url: that of this server in its role, if the document names it; else empty.
        role: what it does, in a sentence.
        verification_key: in base64, as the document has it.
    """

    name: str
    url: str
    role: str
    verification_key: str
    own_name: str = ""
    own_url: str = ""

    @property
    def page(self) -> str:
        """The address of its public status page: the root of its host."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}/"


def no_partner(servers: Any) -> None:
    """There is no other server to show."""


def no_digests(servers: Any) -> tuple[ParameterRow, ...]:
    """The document has no digest to show."""
    return ()


@dataclass(frozen=True, kw_only=True)
class ShownTrustModel:
    """A trust model, ready to be shown.

    Attributes:
        title: as a heading.
        summary: who does what with what is sent, in sentences.
        receiver: to whom devices send, and who sees their addresses, as a subject in the singular.
        own_role: what this server does, in a sentence.
        publishing: what is made when a recipe is published, as a clause.
        meaning: what the choice is about, as a parameter of a recipe, in a sentence.
        summing: what happens to the data of a closed recipe, in a sentence.
        waiting: what an open recipe waits for, in a sentence.
        deleted: what is deleted if nothing was released, as the beginning of a sentence.
        adversaries: whom it protects against and whom not.
        kept: what servers keep of what is sent, each with the time until which they do, as clauses.
        breach: what an attacker who controls a server reads before the result, in sentences.
        observers: those against whom guarantees are stated.
        verifying: who can check the signature of a recipe, as a clause.
        joining: how to take part, as a heading.
        simulated: why no device can take part in a simulation, in a sentence.
        counted: what progress is a number of; empty if nothing is counted.
        rejected: what servers reject, in the plural.
        failed_checks: what happens to invalid reports, and what is shown of them, in sentences.
        noisy_count: whether the number of reports is published with noise.
        partner_uncounted: why the partner counts no valid reports, as a clause; empty if it does.
        needed: what a cohort consists of.
        partner_signs: what the partner signs in place of the number of reports, in a sentence; empty if it
            signs that.
        experimental: why it is experimental, in sentences; empty if it is not.
        partner_shown: the document's servers → the other server that signs the recipe too.
        encryption: how devices encrypt, as a name; empty if documents name a scheme, or if nothing is
            encrypted.
        digests_shown: the document's servers → digests that it has of them, in hexadecimal digits.
    """

    trust: Trust
    title: str
    summary: str
    receiver: str
    own_role: str
    publishing: str
    meaning: str
    summing: str
    waiting: str
    deleted: str
    adversaries: tuple[Adversary, ...]
    kept: tuple[tuple[str, str], ...]
    breach: str
    observers: Observers
    partner_shown: Callable[[Any], PartnerShown | None]
    digests_shown: Callable[[Any], tuple[ParameterRow, ...]] = no_digests
    counted: str
    encryption: str = ""
    failed_checks: str = ""
    noisy_count: bool = False
    rejected: str = "Reports"
    needed: str = "reports"
    partner_uncounted: str = ""
    partner_signs: str = ""
    experimental: str = ""
    verifying: str = "devices pin that key and refuse anything else."
    joining: str = "Take part with a device"
    simulated: str = "Real devices refuse simulations."

    def for_reports(self, device_input: DeviceInput, local: float) -> Self:
        """As `for_input`; and if its reports are hardly scrambled, the text about their readers states so.

        Args:
            local: their local ε (`panprivacy.planning.limits.local_epsilon`).
        """
        shown = self.for_input(device_input)
        if local < HIDES_NOTHING:
            return shown
        adversaries = (
            replace(one, learns=one.unscrambled or one.learns, unscrambled="") for one in shown.adversaries
        )
        return replace(shown, adversaries=tuple(adversaries))

    def for_input(self, device_input: DeviceInput) -> Self:
        """The same of devices with this input: if they keep nothing, an intruder can read nothing there."""
        others = tuple(adversary for adversary in self.adversaries if not adversary.opens_device)
        if device_input.takes_steps or others == self.adversaries:
            return self
        return replace(self, adversaries=(*others, NOTHING_KEPT))


UNTIL_COHORT = (
    "Nothing is released before the cohort is full; there are no partial estimates. The count is shown in "
    "coarse steps: an exact one would reveal when one more device joins. Someone who also sends reports can "
    "count the others."
)

INTRUDER = Adversary(
    "Someone who opens the device, again and again",
    "cannot read there whether the event happened",
    True,
    opens_device=True,
)

BOTH_SERVERS = Adversary(
    "Both servers together",
    "read each answer, scrambled by the device (the local guarantee)",
    False,
    unscrambled="read each answer, which the device hardly scrambles here",
)

INTRUDER_WITH_BOTH = Adversary(
    "Someone who opens the device, with both servers",
    "reads the true answer",
    False,
    opens_device=True,
)

NOTHING_KEPT = Adversary(
    "Someone who opens the device", "finds nothing of what it sent: it keeps no report", True
)
