"""A record of processing for data protection (Articles 30 and 35 GDPR), made from one recipe.

`record_of` makes its one structure, which a template draws as a page and `record_markdown` as Markdown. It
states what the signed recipe shows and what this software does. What neither knows is left to the controller.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from ledger.models import Population
from ledger.selectors import spent_together
from pages.all_rounds import CHARGED, beside_round
from pages.kinds import Kind, kind_of
from pages.recipe.presentation import release_of, status_of
from pages.trust_models import SHOWN, Adversary, ShownTrustModel
from pages.words.admission import admission_sentence, path_of_reports
from pages.words.certainty import delta_text, epsilon_text
from pages.words.given import Copied, Given, Text
from pages.words.parameters_table import part_rows
from pages.words.sentences import (
    RELATION_NAMES,
    GuaranteeText,
    guarantee_texts,
    protection_warning,
    sampling_sentence,
)
from pages.words.target import target_rows
from panprivacy.accounting.guarantees import NONE_HOLDS, Guarantee, Model, Relation
from panprivacy.formats.display import duration, moment
from panprivacy.protocols.hpke import KemName
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.interface import Statistic
from recipes.models import Recipe
from recipes.numbers import RecipeNumbers, numbers_of
from recipes.planner.guarantees import guarantee_from_mapping
from recipes.selectors import guarantees_of
from results.documents import SOFTWARE
from results.models import Release
from series.models import Round
from series.selectors import names_of_costs, rounds_in_all
from web.numbers import at_most, number

FILL_IN = "To be filled in by the controller"

MEASURES = "security measures, Article 30(1)(g)"

UNREAD = ", and single reports being unread"
"""What guarantees of results rely on; in a sentence of its own if the recipe names who reads them."""

FIELDS = ("Field", "Content")

PERSONAL_DATA = "Categories of personal data"

REPLACED = RELATION_NAMES[Relation.REPLACE]
"""For which relation populations are charged."""

MOST_LINES = 10
"""Of a list in the recipe that are shown."""


@dataclass(frozen=True)
class Section:
    """One section: paragraphs, then a table, then a list. Each may be empty.

    Attributes:
        columns: headings of the table.
        rows: as many cells each; the first is a heading.
        to_fill: whether people write into the cells.
    """

    title: str
    paragraphs: tuple[Text, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Text, ...], ...] = ()
    items: tuple[Text, ...] = ()
    to_fill: bool = False


@dataclass(frozen=True)
class Record:
    """The whole record."""

    title: Text
    paragraphs: tuple[Text, ...]
    sections: tuple[Section, ...]


def record_of(recipe: Recipe) -> Record:
    """The record of a published recipe.

    Raises:
        UnreadableRecipeError: this version cannot read its document.
    """
    facts = _Facts.of(recipe)
    introduction = (
        "A draft for Articles 30 and 35 GDPR, from the signed recipe and this software; no legal assessment."
    )
    simulation = (
        "This is a simulation: its devices or items are simulated, and nothing about privacy follows from "
        "it. Whether its input was taken from people is not known here."
    )
    sections = (
        *(_purpose, _data, _responsibility, _servers, _who_learns_what),
        *(_guarantees, _retention, _risks, _evidence),
    )
    return Record(
        title=("Record of processing: ", Given(recipe.question)),
        paragraphs=(introduction, simulation) if recipe.simulation else (introduction,),
        sections=tuple(section(facts) for section in sections),
    )


@dataclass(frozen=True)
class _Facts:
    """What the sections are made from."""

    recipe: Recipe
    published: PublishedRecipe
    release: Release | None
    numbers: RecipeNumbers
    trust: ShownTrustModel
    guarantees: list[Guarantee]

    @classmethod
    def of(cls, recipe: Recipe) -> "_Facts":
        published, release, numbers = recipe.published, release_of(recipe), numbers_of(recipe)
        stated = guarantees_of(recipe) if release is None else release.guarantees
        device_input = published.calibrated_statistic.device_input
        return cls(
            recipe=recipe,
            published=published,
            release=release,
            numbers=numbers,
            trust=SHOWN[published.trust].for_reports(device_input, numbers.local_epsilon),
            guarantees=[guarantee_from_mapping(fields) for fields in stated],
        )

    @property
    def statistic(self) -> Statistic[Any]:
        return self.published.calibrated_statistic

    @property
    def kind(self) -> Kind:
        return kind_of(type(self.statistic))

    @property
    def has_devices(self) -> bool:
        return self.statistic.device_input.has_devices

    @property
    def keeps_state(self) -> bool:
        return self.statistic.device_input.takes_steps


def _purpose(facts: _Facts) -> Section:
    recipe, published = facts.recipe, facts.published
    rows: list[tuple[Text, ...]] = [
        ("Question", Given(recipe.question)),
        ("Name", Copied(recipe.name)),
        *(
            (row.label, Given(_shortened(row.value)))
            for row in part_rows(published)
            if row.value != KemName.X_WING
        ),
        ("Result", f"{facts.statistic.title}. {facts.statistic.description}"),
        ("Period", f"{moment(published.opens_at)} to {moment(published.closes_at)}"),
    ]
    if published.step_seconds:
        rows.append(("Length of a step", duration(published.step_seconds)))
    own: Round | None = getattr(recipe, "round", None)
    if own is not None:
        rows.append(("Round", (f"Number {number(own.number)} of “", Copied(own.series.name), "”")))
    return Section("Purpose", columns=FIELDS, rows=tuple(rows))


def _data(facts: _Facts) -> Section:
    published = facts.published
    subjects = "Users of devices" if facts.has_devices else "People in the items"
    rows: list[tuple[Text, ...]] = [
        ("Data subjects", (f"{subjects} of the population “", Copied(published.population), "”"))
    ]
    if facts.has_devices:
        rows.append(("Fewest devices for a result", number(facts.recipe.cohort_size)))
        if sampling := sampling_sentence(published.parameters.sampling_rate):
            rows.append(("Who takes part", sampling))
    asked = target_rows(published.target, published.parameters)
    rows += [(row.label, Given(row.value)) for row in asked]
    if facts.has_devices:
        way, _ = path_of_reports(published.relay is not None, type(published.servers))
        rows.append(("How reports travel", way))
        if _is_quantum_safe(published):
            rows.append(("Encryption on the way", "X-Wing, made to withstand later quantum computers"))
    rows.append(
        (
            "Network addresses",
            "Neither stored nor logged by this software; proxies are set up by operators.",
        )
    )
    sent = facts.kind.sent.format(duration=duration(int(published.steps_duration.total_seconds())))
    return Section("Data", (sent,), FIELDS, tuple(rows))


def _is_quantum_safe(published: PublishedRecipe) -> bool:
    """Whether X-Wing seals reports on the way: it may seal requests for tokens alone."""
    seals_reports = bool(published.servers.sealed_shares) or published.relay is not None
    return seals_reports and published.hpke is KemName.X_WING


def _responsibility(facts: _Facts) -> Section:
    fields = (
        "Why the answer is needed",
        "Controller, joint controllers and contact",
        "Data protection officer",
        "Categories of data subjects",
        PERSONAL_DATA,
        "Special categories of personal data (Article 9)",
        "Legal basis (Articles 6 and 9)",
        "Recipients within the organization",
        "Processors, and contracts with them",
        "Organization and country of each server",
        "Transfers to third countries, and safeguards",
        "Necessity and proportionality",
        "Information, consent, and rights of data subjects",
        "Risks: likelihood, severity, further measures",
    )
    rows = tuple((field, _personal_data(facts) if field == PERSONAL_DATA else "") for field in fields)
    return Section("Responsibility", (f"{FILL_IN}.",), ("Field", "Entry"), rows, to_fill=True)


def _personal_data(facts: _Facts) -> str:
    """The categories of Article 30(1)(c), as far as the recipe shows them."""
    published, collected = facts.published, facts.kind.collected_by(facts.statistic.statistic)
    segment = " and the device's segment" if published.segments else ""
    parts = [f"{_begun(collected)}{segment}, once per {'report' if facts.has_devices else 'item'}"]
    if published.admission is not None:
        parts.append("identifiers of devices at the attester")
    return "; ".join([*parts, "network address while a request lasts"])


def _servers(facts: _Facts) -> Section:
    """Every server that the recipe names: the recipients."""
    published, partner = facts.published, facts.trust.partner_shown(facts.published.servers)
    role = facts.trust.own_role
    rows: list[tuple[Text, ...]] = []
    if partner is None or not partner.own_url:
        address = (
            (Copied(settings.SITE_URL), ", not in the recipe") if settings.SITE_URL else "not in the recipe"
        )
        rows.append(("This site", address, role))
    else:
        rows.append((f"This site, the {partner.own_name}", Copied(partner.own_url), role))
    if partner is not None:
        rows.append((partner.name.capitalize(), Copied(partner.url), partner.role))
    if published.relay is not None:
        rows.append(("Relay", Copied(published.relay), "Sees addresses, and cannot read reports."))
    if (admission := published.admission) is not None:
        rows += [
            (
                "Attester",
                Copied(admission.attester_url),
                "Knows devices; does not see which recipe is meant.",
            ),
            ("Issuer", Copied(admission.issuer_name), "Signs tokens; does not see which device asks."),
        ]
    return Section(
        title="Servers",
        columns=("Server", "Address", "Part"),
        rows=tuple(rows),
    )


def _who_learns_what(facts: _Facts) -> Section:
    rows = tuple(
        (one.who, f"{_begun(one.learns)}.", _protection(one, facts)) for one in facts.trust.adversaries
    )
    columns = ("Who", "What they learn", "Protection")
    paragraphs = tuple(filter(None, (facts.trust.meaning, facts.trust.experimental)))
    return Section(f"Who learns what ({MEASURES})", paragraphs, columns, rows)


def _protection(adversary: Adversary, facts: _Facts) -> str:
    if adversary.protected:
        return "Protected"
    local = facts.numbers.local_epsilon
    # They read answers that devices have scrambled: `for_reports` has no such text if that hides nothing.
    return f"Only by ε = {epsilon_text(local)}" if adversary.unscrambled else "Not protected"


def _guarantees(facts: _Facts) -> Section:
    paragraphs = [
        "Privacy loss (ε): the smaller, the less an observer learns. Failure probability (δ): that of "
        "learning more than ε says."
    ]
    if warning := protection_warning(facts.guarantees):
        paragraphs.append(warning)
    texts = guarantee_texts(facts.guarantees)
    rows = [(_begun(bound), meaning) for bound, meaning in _guarantee_rows(texts, facts)]
    if not rows:
        rows.append(("Unknown", "The recipe states none."))
    own: Round | None = getattr(facts.recipe, "round", None)
    if own is not None:
        paragraphs.append("The table is of this round alone, but for the rows of all rounds.")
        every = f"All {number(rounds_in_all(own.series))} rounds together"
        rows += [(f"{every}: {bound}", meaning) for bound, meaning in _together(facts, own, texts)]
    relations = dict.fromkeys(
        relation for text in texts for one in (text, *text.others) for relation in one.relations
    )
    return Section(
        title=f"Guarantees ({MEASURES})",
        paragraphs=tuple(paragraphs),
        columns=("Bound", "Meaning"),
        rows=tuple(rows),
        items=tuple(map(_begun, relations)),
    )


def _guarantee_rows(guarantees: Iterable[GuaranteeText], facts: _Facts) -> Iterator[tuple[str, str]]:
    assumed, excepted = set[str](), facts.trust.observers.excepted
    for one in guarantees:
        meaning, assumption = [one.sentence, one.colluding], one.assumption
        excepts = bool(excepted) and one.model not in {Model.LOCAL.value, Model.PAN.value}
        # What encryption relies on is among the risks.
        if assumption not in {"", *assumed} and not one.by_encryption:
            assumed.add(assumption)
            meaning.append(f"This relies on {assumption.removesuffix(UNREAD) if excepts else assumption}.")
        yield one.all_numbers, " ".join(filter(None, [*meaning, excepted if excepts else ""]))


def _together(facts: _Facts, own: Round, texts: Sequence[GuaranteeText]) -> Iterator[tuple[str, str]]:
    """What all rounds lose together, and against whom: as their document states it, or as their population is
    charged."""
    signed = beside_round(facts.recipe)
    if signed is not None:
        yield from _guarantee_rows(signed[1], facts)
        if not signed[1]:
            yield "unknown", "Their document states none."
        return
    population = Population.objects.filter(name=facts.published.population).first()
    charged = None if population is None else spent_together(population, names_of_costs(own.series))
    if charged is None:
        yield "unknown", "No budget is charged with them."
        return
    if charged.epsilon is None:
        bound = f"privacy loss (ε) {charged.why_unknown}"
    elif charged.epsilon == math.inf:
        bound = NONE_HOLDS
    else:
        bound = f"privacy loss ε ≤ {epsilon_text(charged.epsilon)}"
    reader = f"For someone who reads {facts.kind.reader}, and with whom no device colludes"
    meaning = [f"{reader}: what the population is charged with."]
    meaning += [f"This relies on {condition}." for condition in charged.conditions]
    meaning += [f"{one.observer}: unknown." for one in texts if one.model not in CHARGED]
    yield f"{bound}, failure probability δ = {delta_text(charged.delta)}, {REPLACED}", " ".join(meaning)


def _retention(facts: _Facts) -> Section:
    rows = list(facts.trust.kept)
    if facts.keeps_state:
        rows.insert(0, ("Encrypted notes on the device", "until the application deletes them"))
    elif facts.has_devices and facts.published.admission is not None:
        rows.insert(0, ("The sealed report on the device", "until it is delivered"))
    if facts.published.admission is not None:
        rows.append(("At the attester: devices, and identifiers of tokens that name none", "without limit"))
    if facts.recipe.private:
        rows.append(("This simulation and its result", "until an analyst deletes it"))
    else:
        rows.append(("Recipe, result, and audit log with names of accounts", "without limit"))
    unproved = (
        "The recipe does not prove that servers run this software unchanged, nor that backups leave out "
        "erasable keys."
    )
    return Section("Retention", (unproved,), ("What", "Kept"), tuple(rows))


def _risks(facts: _Facts) -> Section:
    """What remains if all follow the protocol, and if some do not."""
    items: list[Text] = [f"Server: {facts.trust.breach} Changed code can also store addresses."]
    items += _device_risks(facts) if facts.has_devices else _item_risks()
    items.append(_repetition(facts))
    return Section("Residual risks", items=tuple(items))


def _device_risks(facts: _Facts) -> Iterator[str]:
    published, statistic = facts.published, facts.statistic
    if facts.keeps_state:
        scheme = published.servers.scheme or facts.trust.encryption
        yield (
            f"Device: encryption protects its notes ({scheme}), not ε. That is a computational assumption; "
            "quantum computers break it, also for recorded notes. The recipe's private keys, taken together, "
            "open them. Memory during a step, and what the application stores, are not protected."
        )
    else:
        recorded = "" if _is_quantum_safe(published) else " Quantum computers may open recorded reports."
        yield f"Device: what the application stores of the value is not protected.{recorded}"
    if published.relay is None:
        addresses = f"{_begun(facts.trust.receiver)} sees addresses while requests last."
    else:
        addresses = "Relay and site together see which address sent which report."
    yield f"Network: an observer sees which devices take part, and when. {addresses}"
    yield f"False reports: {admission_sentence(published.admission, type(published.servers))}"
    if (robustness := facts.numbers.robustness) is None:
        yield "Dishonest devices: each can move the result; how far is not stated here."
    else:
        unit = f" {statistic.unit}" if statistic.counts_devices else ""
        yield f"Dishonest devices: one moves a value by at most {at_most(robustness.each)}{unit}."
    yield (
        "Small groups: if few devices could report, a change of the public number of reports shows that one "
        "of them took part."
    )
    if published.segments:
        yield "Small groups: a segment that fits one person gives a noisy answer about this person."
    if published.target is not None:
        yield "Small groups: the target is as large as the cited results show, if these are true."


def _item_risks() -> Iterator[str]:
    yield "Network: an observer sees when batches come, and how long they are."
    yield "Dishonest senders: each can move the result; how far is not stated here."


def _repetition(facts: _Facts) -> Text:
    """What several recipes about the same people reveal together."""
    name = Copied(facts.published.population)
    begun = "Repetition: each recipe about the same people costs privacy. "
    if facts.recipe.simulation:
        return f"{begun}A simulation spends no budget."
    population = Population.objects.filter(name=facts.published.population).first()
    budget = None if population is None else population.budget
    if budget is None:
        return begun, "The population “", name, "” has no budget: no recipe is refused for its cost."
    return (
        begun,
        "The budget of the population “",
        name,
        f"” bounds what readers of all its results learn: privacy loss ε = {epsilon_text(budget.epsilon)}, "
        f"δ = {delta_text(budget.delta)}. Administrators can raise it, on record. Recipes under another name "
        "are not counted.",
    )


def _evidence(facts: _Facts) -> Section:
    recipe, release = facts.recipe, facts.release
    state = status_of(recipe, release, timezone.now()).label
    rows: list[tuple[Text, ...]] = [
        ("Identifier of the recipe", Copied(str(recipe.identifier))),
        ("Signed by", ", ".join(["this site", *sorted(recipe.signatures_of_partners)])),
        ("Published", "unknown" if recipe.published_at is None else moment(recipe.published_at)),
        ("State", state if release is None else f"{state}, {moment(release.released_at)}"),
    ]
    if release is not None:
        reports = "unknown" if release.reports is None else number(release.reports)
        rows.append(("Reports in the result, as published", reports))
        if release.reason:
            rows.append(("Why nothing was released", Given(release.reason)))
    rows.append(("Made by", SOFTWARE))
    page = Copied(f"{settings.SITE_URL or ''}{reverse('recipe-verify', args=[recipe.identifier])}")
    check: Text = "It is not in the public log." if recipe.private else page
    rows.append(("How to check", check))
    return Section("Evidence", columns=FIELDS, rows=tuple(rows))


def _shortened(text: str) -> str:
    """The beginning of a list of lines that are separated by semicolons."""
    lines = text.split("; ")
    if len(lines) <= MOST_LINES:
        return text
    return f"{'; '.join(lines[:MOST_LINES])}; and {number(len(lines) - MOST_LINES)} more in the recipe"


def _begun(clause: str) -> str:
    """A clause as the beginning of a sentence."""
    return clause[:1].upper() + clause[1:]
