"""A recipe in a file or a form, not yet published."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Self

from panprivacy.accounting.number_cache import parts_of
from panprivacy.accounting.trust import Trust
from panprivacy.encryption import DEFAULT_SCHEME, require_fresh, require_scheme
from panprivacy.formats.display import duration
from panprivacy.formats.errors import FieldError
from panprivacy.formats.lines import one_line
from panprivacy.formats.parameters import Description, K, PublicParameters
from panprivacy.formats.times import EARLIEST, LATEST, format_time, parse_time, time_after
from panprivacy.planning.likelihood import unlikely_sentence
from panprivacy.planning.recipe_plan import NO_PLAN, RecipePlan, plan_fields
from panprivacy.planning.value_search import keeps_promise, remedy_clause
from panprivacy.protocols.hpke import KemName
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.fields import (
    NAME_LENGTH,
    QUESTION_LENGTH,
    STEP_SECONDS,
    own_fields,
    require_open_for_steps,
    require_population_name,
    steps_duration,
)
from panprivacy.recipe.file_fields import parts_of_file, unknown_field
from panprivacy.recipe.parts import PARTS
from panprivacy.recipe.parts.admission import Admission
from panprivacy.recipe.parts.event import NO_NAMES
from panprivacy.recipe.parts.hidden_count import dummies_calibrated, required_size
from panprivacy.recipe.parts.hpke import is_sealed
from panprivacy.recipe.parts.interface import PartValue, RecipeOfParts, Subject
from panprivacy.recipe.parts.round import RoundPlace
from panprivacy.recipe.parts.target import TargetRequest
from panprivacy.statistics.catalogue import statistic_class, statistic_of
from panprivacy.statistics.events.dummies import Dummies
from panprivacy.statistics.interface import ReportStatistic, Statistic
from panprivacy.statistics.trust_models import (
    TRUST_MODELS,
    Servers,
    statistic_under_trust,
    trust_of,
    trusts_of,
)

GRACE = timedelta(days=1)
"""Default time between the last step and the closing of a recipe."""

DEFAULT_POPULATION = "everyone"
"""The population of a recipe file that names none."""


@dataclass(frozen=True, kw_only=True)
class RecipeDraft(RecipeOfParts):
    """A recipe without a key: everything an analyst decides.

    Attributes:
        population: name of the devices that are asked; recipes that name the same one share its
            privacy budget. Only the server knows whether there is such a population.
        trust: which server sees what devices send.
        encryption: registered name of the scheme; None if nothing is encrypted.
        step_seconds: length of a step; None if devices take none.
        parts: by its name the value of each optional part that the recipe has (`parts.PARTS`).
        event: what is counted, and names for the answer's values.
        segments: labels by which it asks, each of them a part of the population; empty if there are none.
        hidden_count: ε and δ at which dummies hide the number of reports; None if nothing does.
        admission: which senders may report.
        relay: whether devices speak to the servers through a relay only.
        hpke: the KEM that seals what devices send; None for the default.
        round: which round of a repeated recipe it is; None if it is none. No recipe file has it.
        target: which devices of the population are asked; None if all are.
        plan: what the analyst expects; not part of the document.
    """

    name: str
    question: str
    statistic: str
    population: str
    trust: Trust
    parameters: PublicParameters
    encryption: str | None
    step_seconds: int | None
    opens_at: datetime | None
    closes_at: datetime | None
    parts: Mapping[str, Any] = field(default_factory=dict, hash=False)
    plan: RecipePlan = NO_PLAN

    event = PartValue("event", NO_NAMES)
    segments = PartValue[tuple[str, ...]]("segments", ())
    hidden_count = PartValue[tuple[float, float] | None]("hidden_count", None)
    admission = PartValue("admission", Admission.OPEN)
    relay = PartValue("relay", False)
    hpke = PartValue[KemName | None]("hpke", None)
    round = PartValue[RoundPlace | None]("round", None)
    target = PartValue[TargetRequest | None]("target", None)

    @classmethod
    def from_mapping(cls, members: Mapping[str, object]) -> Self:
        """Read a recipe file or form.

        Raises:
            FieldError: names the first field that is unknown, missing or out of range.
        """
        members = dict(members)
        for name in ("statistic", "name", "question"):
            if name not in members:
                raise FieldError(name, "is missing")
        statistic = statistic_class(members["statistic"])
        trust = trust_of(members.get("trust", trusts_of(statistic)[0].value), statistic)
        subject = Subject(statistic, TRUST_MODELS[trust])
        own = own_fields(subject)
        parts = parts_of_file(members, subject)
        plan = RecipePlan.from_members(members) if plan_fields(statistic) else NO_PLAN
        parameter_members = {name: value for name, value in members.items() if name not in own}
        if "k" in parameter_members and "k" not in statistic.parameters_class.names():
            # One recipe file can be tried with every statistic: those without buckets do not use k.
            Description(help="Number of the last bucket.", **K).check("k", int, parameter_members.pop("k"))
        derived = [name for name in statistic.parameters_class.derived_names() if name in parameter_members]
        if derived:
            raise FieldError(derived[0], "is computed when the recipe is published; leave it out")
        for name in parameter_members:
            if name not in statistic.parameters_class.names():
                raise unknown_field(name, subject)
        draft = cls(
            name=one_line("name", members["name"], NAME_LENGTH),
            question=one_line("question", members["question"], QUESTION_LENGTH),
            statistic=statistic.statistic,
            population=require_population_name(members.get("population", DEFAULT_POPULATION)),
            trust=trust,
            parameters=statistic.parameters_class.from_mapping(parameter_members),
            encryption=require_scheme(members.get("encryption", DEFAULT_SCHEME))
            if "encryption" in own
            else None,
            step_seconds=STEP_SECONDS.check("step_seconds", int, members.get("step_seconds", 86_400))
            if "step_seconds" in own
            else None,
            opens_at=_optional_time("opens_at", members.get("opens_at")),
            closes_at=_optional_time("closes_at", members.get("closes_at")),
            parts=parts,
            plan=plan,
        )
        for part in PARTS.values():
            part.check(draft)
        _ = statistic_under_trust(draft.plain_statistic, trust)
        if statistic.fresh_ciphertexts and draft.encryption is not None:
            require_fresh(draft.encryption)
        if draft.hidden_count is not None:
            required_size(draft.plan.population_size)
        draft.window(datetime(2000, 1, 1, tzinfo=UTC))
        return draft

    @property
    def warning(self) -> str:
        """Why a result is unlikely, though it can be published, as a sentence; empty if one is likely."""
        if self.plan.population_size is None:
            return ""
        statistic, servers = self.statistic_with(self.parameters), TRUST_MODELS[self.trust]
        return unlikely_sentence(statistic, servers, self.plan.population_size)

    @cached_property
    def dummies(self) -> Dummies | None:
        """What hides the number of reports, with its rate; FieldError if nothing can."""
        if self.hidden_count is None:
            return None
        return dummies_calibrated(self.hidden_count, self.parameters, self.plan.population_size)

    @cached_property
    def plain_statistic(self) -> Statistic[Any]:
        """The statistic with these parameters and segments; FieldError if it cannot have them."""
        return statistic_of(self.statistic, self.parameters, self.segments)

    def window(self, now: datetime) -> tuple[datetime, datetime]:
        """Opening and closing time.

        Raises:
            FieldError: it closes before the steps end, or documents cannot express a time.
        """
        opens_at = self.opens_at or now.replace(microsecond=0)
        usual = self.steps_duration + GRACE
        latest = time_after(LATEST, -usual)
        if latest is None or (self.opens_at is None and latest < opens_at):
            begin = min(opens_at, now)
            most = (LATEST - begin - GRACE) // timedelta(seconds=self.parameters.step_count)
            raise FieldError(
                "step_seconds", f"must be at most {most:,}, so that the steps end in the year {LATEST.year}"
            )
        if self.closes_at is None and latest < opens_at:
            raise FieldError(
                "opens_at",
                f"must be at most {format_time(latest)}: the recipe closes "
                f"{duration(int(usual.total_seconds()))} later, in the year {LATEST.year} at the latest",
            )
        closes_at = self.closes_at or opens_at + usual
        if self.opens_at is None and closes_at <= opens_at:
            if closes_at < EARLIEST + usual:
                raise FieldError("closes_at", f"must be at least {format_time(EARLIEST + usual)}")
            opens_at = closes_at - usual
        require_open_for_steps("closes_at", closes_at - opens_at, self.steps_duration)
        return opens_at, closes_at

    @property
    def steps_duration(self) -> timedelta:
        """The time that a device takes for its steps."""
        return steps_duration(self.parameters, self.step_seconds)

    def calibrated_statistic(self) -> Statistic[Any]:
        """The statistic with its derived parameters computed.

        Raises:
            FieldError: they cannot be met; or the stated aggregator target is missed, with what would meet
                it.
        """
        return self._mechanism

    def statistic_with(self, parameters: PublicParameters) -> Statistic[Any]:
        """The statistic that is asked, with these parameters; FieldError if it cannot have them."""
        statistic = statistic_of(self.statistic, parameters, self.segments, self.dummies, self.event.labels)
        return statistic_under_trust(statistic, self.trust)

    @cached_property
    def calibrated(self) -> Statistic[Any]:
        """The statistic with its derived parameters computed, whether or not it keeps what it states."""
        # Computing them takes up to seconds, and publishing needs them more than once.
        return self.statistic_with(self.parameters.calibrated())

    @cached_property
    def _mechanism(self) -> Statistic[Any]:
        mechanism = self.calibrated
        if isinstance(mechanism, ReportStatistic):
            # Refused only here: a range of values too wide to be decrypted.
            _ = mechanism.allowed_values
        try:
            mechanism.require_promise()
        except FieldError as refusal:
            remedies = remedy_clause(mechanism, keeps_promise)
            raise FieldError(refusal.field, f"{refusal.message}; {remedies}") from None
        return mechanism

    def settled(self, derived: Mapping[str, Any], dummy_rate: float | None, *, keeps_promise: bool) -> Self:
        """The same draft, with what takes long to compute of it as it was computed elsewhere.

        Args:
            derived: the derived parameters by name.
            dummy_rate: of `dummies`; None without them.
            keeps_promise: whether the recipe keeps what it states; if not, `calibrated_statistic` refuses it.
        """
        known = replace(self)
        # The places of its cached properties: a draft that is made of this one computes its own.
        found = vars(known)
        if self.hidden_count is not None and dummy_rate is not None:
            epsilon, delta = self.hidden_count
            size = required_size(self.plan.population_size)
            found["dummies"] = Dummies(
                epsilon=epsilon, delta=delta, population_size=size, dummy_rate=dummy_rate
            )
        found["calibrated"] = known.statistic_with(replace(self.parameters, **derived))
        if keeps_promise:
            found["_mechanism"] = known.calibrated
        return known

    @property
    def anonymized(self) -> Self:
        """The same with only what its guarantees depend on, and neutral names: the input for remote
        computation of guarantees."""
        return replace(
            self,
            name="-",
            question="-",
            population=DEFAULT_POPULATION,
            parameters=self.parameters.without_names(),
            opens_at=None,
            closes_at=None,
            parts={
                name: neutral
                for name, value in self.parts.items()
                if (neutral := PARTS[name].without_names(value)) is not None
            },
            plan=replace(NO_PLAN, population_size=self.plan.population_size),
        )

    def prepare(self) -> None:
        """Compute the guarantees, and the loss that a budget composes, so that they are remembered.

        Raises:
            FieldError: the parameters cannot be met, or do not keep what the recipe states; with values that
                would.
        """
        self.calibrated.guarantees()
        parts_of(self.calibrated.aggregator_event())
        self.calibrated_statistic()

    def settled_fields(self) -> dict[str, Any]:
        """The fields of the document that do not depend on publishing: all but name, times, servers and what
        publishing makes."""
        return {
            "question": self.question,
            "statistic": self.statistic,
            **{
                field: value
                for name, stated in self._published_parts(made_when_published=False).items()
                for field, value in PARTS[name].document_fields(stated).items()
            },
            "trust": self.trust.value,
            "population": self.population,
            **self.calibrated_statistic().parameters.as_dict(),
            **({} if self.encryption is None else {"encryption": self.encryption}),
            **({} if self.step_seconds is None else {"step_seconds": self.step_seconds}),
        }

    def _published_parts(self, made_when_published: bool, **made: Any) -> dict[str, Any]:
        """The values of the parts in the document.

        Args:
            made_when_published: whether of those, too, to which publishing adds something.
            made: by the part's name, what it made.
        """
        kem = (self.hpke or KemName.X_WING) if is_sealed(self) else None
        made = {"hidden_count": self.dummies, "hpke": kem, **made}
        values = {
            name: part.published(self.parts.get(name), made.pop(name, None))
            for name, part in PARTS.items()
            if made_when_published or not part.made_when_published
        }
        if made:
            raise ValueError(f"{', '.join(made)}: no parts of recipes")
        return {name: value for name, value in values.items() if value is not None}

    def publish(
        self,
        servers: Servers,
        now: datetime,
        *,
        simulation: bool = False,
        **made: Any,
    ) -> PublishedRecipe:
        """The final recipe: keys, times and derived parameters filled in.

        Args:
            servers: of the trust model `trust`, their keys freshly made for this recipe and of the
                scheme `encryption`.
            now: the opening time if none was chosen.
            simulation: whether the reports come from simulated devices; such a recipe
                is not bound by its times, and real devices refuse it.
            made: by its name, the value in the document of each part of the draft that is made when it is
                published: the issuer of its tokens, the address at the relay, the target with its results.

        Raises:
            FieldError: the recipe would already be closed, or cannot be calibrated.
            ValueError: servers of another trust model or scheme, or more or less than the draft asks for.
        """
        parts = self._published_parts(made_when_published=True, **made)
        if servers.trust != self.trust or servers.scheme != self.encryption:
            raise ValueError(
                f"the servers must be those of a {self.trust} recipe with {self.encryption} keys"
            )
        opens_at, closes_at = self.window(now)
        if not simulation and closes_at <= now:
            if self.closes_at is None:
                raise FieldError(
                    "opens_at", f"is so early that the recipe would have closed {format_time(closes_at)}"
                )
            raise FieldError("closes_at", f"must be in the future; it is {format_time(now)} now")
        published = PublishedRecipe(
            name=self.name,
            question=self.question,
            statistic=self.statistic,
            population=self.population,
            parameters=self.calibrated_statistic().parameters,
            servers=servers,
            step_seconds=self.step_seconds,
            opens_at=opens_at,
            closes_at=closes_at,
            simulation=simulation,
            parts=parts,
        )
        # Checked first; only then is a partner server asked.
        published.require_readable()
        return published

    def as_dict(self) -> dict[str, Any]:
        """The fields that `from_mapping` reads."""
        members: dict[str, Any] = {
            "name": self.name,
            "question": self.question,
            "statistic": self.statistic,
            "population": self.population,
            "trust": self.trust.value,
            **self.parameters.as_dict(),
            **{
                field: value
                for name, stated in self.parts.items()
                if PARTS[name].in_files
                for field, value in PARTS[name].file_fields(stated).items()
            },
            **self.plan.members(),
        }
        optional = {"encryption": self.encryption, "step_seconds": self.step_seconds}
        members |= {name: value for name, value in optional.items() if value is not None}
        times = {"opens_at": self.opens_at, "closes_at": self.closes_at}
        return members | {name: format_time(time) for name, time in times.items() if time is not None}


def _optional_time(field: str, value: object) -> datetime | None:
    return None if value is None else parse_time(field, value)
