"""A record of processing for data protection (Articles 30 and 35 GDPR), made from one recipe.

`record_of` makes its one structure, which a template draws as a page and `record_markdown` as Markdown. It
states what the signed recipe shows and what this software does. What neither knows is left to the controller.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from ledger.models import Population
from pages.all_rounds import beside_round
from pages.kinds import kind_of
from pages.recipe.presentation import release_of, status_of
from pages.trust_models import SHOWN, ShownTrustModel
from pages.words.admission import WAYS, admission_sentence
from pages.words.certainty import delta_text, epsilon_text
from pages.words.given import Given, Text
from pages.words.parameters_table import part_rows
from pages.words.sentences import GuaranteeText, guarantee_texts, protection_warning, sampling_sentence
from pages.words.target import target_rows
from panprivacy.accounting.guarantees import Guarantee
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
from web.numbers import at_most, number

FILL_IN = "To be filled in by the controller"

FIELDS = ("Field", "Content")

MOST_LINES = 10
"""Of a list in the recipe that are shown."""


@dataclass(frozen=True)
class Section:
    """One section: paragraphs, then a table, then a list. Each may be empty.

    Attributes:
        columns: headings of the table.
        rows: as many cells each; the first is a heading.
    """

    title: str
    paragraphs: tuple[Text, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Text, ...], ...] = ()
    items: tuple[Text, ...] = ()


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
        "A draft for Articles 30 and 35 GDPR: what the signed recipe shows, and what this software does. It "
        "is not a legal assessment."
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
    def has_devices(self) -> bool:
        return self.statistic.device_input.has_devices

    @property
    def keeps_state(self) -> bool:
        return self.statistic.device_input.takes_steps


def _purpose(facts: _Facts) -> Section:
    recipe, published = facts.recipe, facts.published
    rows: list[tuple[Text, ...]] = [
        ("Question", Given(recipe.question)),
        ("Name", Given(recipe.name)),
        *((row.label, Given(_shortened(row.value))) for row in part_rows(published)),
        ("Result", f"{facts.statistic.title}. {facts.statistic.description}"),
        ("Period", f"{moment(published.opens_at)} to {moment(published.closes_at)}"),
    ]
    if published.step_seconds:
        rows.append(("Length of a step", duration(published.step_seconds)))
    own: Round | None = getattr(recipe, "round", None)
    if own is not None:
        rows.append(("Round", (f"Number {number(own.number)} of “", Given(own.series.name), "”")))
    rows.append(("Why the answer is needed", FILL_IN))
    return Section("Purpose", columns=FIELDS, rows=tuple(rows))


def _data(facts: _Facts) -> Section:
    published = facts.published
    subjects = "Users of the devices" if facts.has_devices else "People in the items"
    rows: list[tuple[Text, ...]] = [
        ("Data subjects", (f"{subjects} of the population “", Given(published.population), "”"))
    ]
    if facts.has_devices:
        rows.append(("Smallest number of devices for a result", number(facts.recipe.cohort_size)))
        if sampling := sampling_sentence(published.parameters.sampling_rate):
            rows.append(("Who takes part", sampling))
    asked = target_rows(published.target, published.parameters)
    rows += [(row.label, Given(row.value)) for row in asked]
    if facts.has_devices:
        rows.append(("How reports travel", ". ".join(WAYS[published.relay is not None])))
    rows.append(
        (
            "Network addresses",
            "This software neither stores nor logs those of senders. Proxies are set up by operators.",
        )
    )
    return Section("Data", (kind_of(type(facts.statistic)).summary,), FIELDS, tuple(rows))


def _responsibility(_: _Facts) -> Section:
    fields = (
        "Controller, joint controllers and contact",
        "Data protection officer",
        "Categories of data subjects; special categories of data",
        "Legal basis (Articles 6 and 9)",
        "Recipients within the organization",
        "Processors, and contracts with them",
        "Transfers to third countries, and safeguards",
        "Necessity and proportionality",
        "Information, consent, and rights of data subjects",
    )
    rows = tuple((field, "") for field in fields)
    return Section("Responsibility", (f"{FILL_IN}.",), ("Field", "Entry"), rows)


def _servers(facts: _Facts) -> Section:
    """Every server that the recipe names: the recipients."""
    published, partner = facts.published, facts.trust.partner_shown(facts.published.servers)
    rows = []
    if partner is None or not partner.own_url:
        rows.append(("This site", "not in the recipe", "Publishes recipe and result."))
    else:
        rows.append((f"This site, the {partner.own_name}", partner.own_url, partner.own_role))
    if partner is not None:
        rows.append((partner.name.capitalize(), partner.url, partner.role))
    if published.relay is not None:
        rows.append(("Relay", published.relay, "Sees addresses, and cannot read reports."))
    if (admission := published.admission) is not None:
        rows += [
            ("Attester", admission.attester_url, "Knows devices; does not see which recipe is meant."),
            ("Issuer", admission.issuer_name, "Signs tokens; does not see which device asks."),
        ]
    return Section(
        "Servers",
        (f"The organization and country of each: {FILL_IN.lower()}.",),
        ("Server", "Address", "Part"),
        tuple((name, Given(address), part) for name, address, part in rows),
    )


def _who_learns_what(facts: _Facts) -> Section:
    rows = tuple(
        (one.who, f"{_begun(one.learns)}.", "Protected" if one.protected else "Not protected")
        for one in facts.trust.adversaries
    )
    return Section("Who learns what", (facts.trust.meaning,), ("Who", "What they learn", "Protection"), rows)


def _guarantees(facts: _Facts) -> Section:
    paragraphs = [
        "Privacy loss (ε): the smaller, the less an observer learns. Failure probability (δ): that of "
        "learning more than ε says."
    ]
    if warning := protection_warning(facts.guarantees):
        paragraphs.append(warning)
    together = beside_round(facts.recipe)
    if together is not None:
        signed, guarantees = together
        said = "; ".join(f"{one.observer.lower()}: {one.numbers}" for one in guarantees)
        rounds = f"All {number(signed.rounds)} rounds together: {said or 'unknown'}."
        paragraphs.append(f"The table is of this round alone. {rounds}")
    rows = tuple(_guarantee_rows(guarantee_texts(facts.guarantees)))
    none = (("Unknown", "The recipe states none."),)
    return Section("Guarantees", tuple(paragraphs), ("Bound", "Meaning"), rows or none)


def _guarantee_rows(guarantees: Iterable[GuaranteeText]) -> Iterator[tuple[Text, ...]]:
    assumed = set[str]()
    for one in guarantees:
        meaning = [one.sentence, one.colluding]
        # What encryption relies on is among the risks.
        if one.assumption not in {"", *assumed} and not one.by_encryption:
            assumed.add(one.assumption)
            meaning.append(f"This relies on {one.assumption}.")
        yield _begun(one.all_numbers), " ".join(filter(None, meaning))


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
        "The recipe does not prove that servers run this software unchanged. Backups must leave out erasable "
        "keys, as operators are asked."
    )
    return Section("Retention", (unproved,), ("What", "Kept"), tuple(rows))


def _risks(facts: _Facts) -> Section:
    """What remains if all follow the protocol, and if some do not."""
    items: list[Text] = [f"Server: {facts.trust.breach} Changed code can also store addresses."]
    items += _device_risks(facts) if facts.has_devices else _item_risks()
    items.append(_repetition(facts))
    rest = f"Likelihood, severity and further measures: {FILL_IN.lower()}."
    return Section("Residual risks", paragraphs=(rest,), items=tuple(items))


def _device_risks(facts: _Facts) -> Iterator[str]:
    published, statistic = facts.published, facts.statistic
    if facts.keeps_state:
        yield (
            f"Device: encryption protects its notes ({published.servers.scheme or 'unknown scheme'}), not ε. "
            "That is a computational assumption; quantum computers break it, also for recorded notes. The "
            "private keys of the recipe open them. Memory during a step, and what the application stores, "
            "are not protected."
        )
    else:
        recorded = "" if published.hpke is KemName.X_WING else " Quantum computers may open recorded reports."
        yield f"Device: what the application stores of the value is not protected.{recorded}"
    if published.relay is None:
        addresses = "Servers see addresses while requests last."
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
    name = Given(facts.published.population)
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
        ("Identifier of the recipe", str(recipe.identifier)),
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
    check = "The page “Verify” of the recipe has the steps."
    rows.append(("How to check", "It is not in the public log." if recipe.private else check))
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
