"""The public recipe: what is asked, of whom, with which protection, under which key.

A recipe is published as a JSON document. Its identifier is the SHA-256 of the
document's canonical form (RFC 8785), and the server signs that form with Ed25519.
Devices check both before they take part, so nobody can show two devices different
recipes under one identifier, nor change a parameter after publication.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, Self

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from panprivacy import asked_admission, asked_hidden_count, asked_round, asked_segments, asked_target
from panprivacy.asked_admission import Admission, TokenAdmission, admission_of, relay_of
from panprivacy.asked_event import EVENT_FIELDS, NOTHING_NAMED, AskedEvent
from panprivacy.asked_round import AskedRound
from panprivacy.asked_target import AskedTarget, CitedTarget
from panprivacy.canonical_json import NoCanonicalFormError, canonical_json
from panprivacy.catalogue import statistic_class, statistic_of
from panprivacy.encryption import DEFAULT_SCHEME, require_scheme
from panprivacy.encryption.interface import PublicKey
from panprivacy.errors import FieldError
from panprivacy.lines import one_line
from panprivacy.mechanisms.cohort import CohortStatistic
from panprivacy.mechanisms.dummies import Dummies
from panprivacy.parameters import Description, K, PublicParameters, as_typed
from panprivacy.recipe_plan import NOTHING_PLANNED, RecipePlan, plan_fields
from panprivacy.remedies import remedies
from panprivacy.statistic import Statistic
from panprivacy.trust import FIRST, Trust
from panprivacy.trust_models import TRUST_MODELS, Servers, trust_named, trusts_of
from panprivacy.trust_models.members import RecipeVerificationError as RecipeVerificationError
from panprivacy.trust_models.members import require_signed_by, require_url

FORMAT = "panapp-recipe-3"
"""Version of the format of new documents."""

OPTIONAL_FIELDS = (
    *EVENT_FIELDS,
    asked_segments.FIELD,
    asked_hidden_count.FIELD,
    *asked_admission.FIELDS,
    asked_round.FIELD,
    *asked_target.FIELDS,
)
"""Members that may be absent from a document of any format."""

ABSENT_MEMBERS = {
    "panapp-recipe-2": frozenset({"trust", *OPTIONAL_FIELDS}),
    "panapp-recipe-1": frozenset({"trust", "population", *OPTIONAL_FIELDS}),
}
"""Older versions, still read: what recipes did not say yet. All of them are of one server."""

FORMATS = (FORMAT, *ABSENT_MEMBERS)
"""Every version that is read; a parser refuses any other."""

IDENTIFIER_PATTERN = re.compile(r"[0-9a-f]{64}")

GRACE = timedelta(days=1)
"""Default time between the last step and the closing of a recipe."""

NAME_LENGTH = 120
QUESTION_LENGTH = 500

STEP_SECONDS = Description(
    label="Seconds per step", help="Length of one time step.", minimum=1, maximum=31 * 86_400
)

DRAFT_FIELDS = (
    "name",
    "question",
    *OPTIONAL_FIELDS,
    "statistic",
    "population",
    "trust",
    "encryption",
    "step_seconds",
    "opens_at",
    "closes_at",
)
"""Fields of a recipe file beside the plan and the statistic's own parameters."""

POPULATION_PATTERN = re.compile(r"[a-z0-9-]{1,60}")

DEFAULT_POPULATION = "everyone"
"""The population of a recipe file that names none."""


@dataclass(frozen=True, kw_only=True)
class RecipeDraft:
    """A recipe before it has a key: everything an analyst decides.

    Attributes:
        population: name of the devices that are asked; recipes that name the same one share its
            privacy budget. Whether there is such a population only the server knows.
        trust: who sees what devices send.
        encryption: registered name of the scheme; None where nothing is encrypted.
        step_seconds: length of a step; None where devices take none.
        event: what is counted, and names for the answer's values.
        segments: labels by which it asks, each of them a part of the population; empty where by none.
        hidden_count: ε and δ at which dummies hide the number of reports; None where nothing does.
        admission: who may report.
        relay: whether devices speak to the servers through a relay only.
        round: which round of a recipe in rounds it is; None where it is none. No recipe file says so.
        target: which devices of the population are asked; None where all are.
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
    event: AskedEvent = NOTHING_NAMED
    segments: tuple[str, ...] = ()
    hidden_count: tuple[float, float] | None = None
    admission: Admission = Admission.OPEN
    relay: bool = False
    round: AskedRound | None = None
    target: AskedTarget | None = None
    plan: RecipePlan = NOTHING_PLANNED

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
        trust = _trust(members.get("trust", trusts_of(statistic)[0].value), statistic)
        own_fields = draft_fields(statistic, trust)
        if asked_round.FIELD in members:
            raise unknown_field(asked_round.FIELD, statistic, trust)
        event = AskedEvent.from_members(members, statistic, null_is_absent=True)
        segments = asked_segments.segments_of(members, statistic, null_is_absent=True)
        plan = RecipePlan.from_members(members) if plan_fields(statistic) else NOTHING_PLANNED
        parameter_members = {name: value for name, value in members.items() if name not in own_fields}
        if "k" in parameter_members and "k" not in statistic.parameters_class.names():
            # One recipe file can be tried with every statistic: those that do not bucket have no use for k.
            Description(help="Number of the last bucket.", **K).check("k", int, parameter_members.pop("k"))
        derived = [name for name in statistic.parameters_class.derived_names() if name in parameter_members]
        if derived:
            raise FieldError(derived[0], "is computed when the recipe is published; leave it out")
        for name in parameter_members:
            if name not in statistic.parameters_class.names():
                raise unknown_field(name, statistic, trust)
        draft = cls(
            name=one_line("name", members["name"], NAME_LENGTH),
            question=one_line("question", members["question"], QUESTION_LENGTH),
            statistic=statistic.statistic,
            population=require_population_name(members.get("population", DEFAULT_POPULATION)),
            trust=trust,
            parameters=statistic.parameters_class.from_mapping(parameter_members),
            encryption=require_scheme(members.get("encryption", DEFAULT_SCHEME))
            if "encryption" in own_fields
            else None,
            step_seconds=STEP_SECONDS.check("step_seconds", int, members.get("step_seconds", 86_400))
            if "step_seconds" in own_fields
            else None,
            opens_at=_optional_time("opens_at", members.get("opens_at")),
            closes_at=_optional_time("closes_at", members.get("closes_at")),
            event=event,
            segments=segments,
            hidden_count=asked_hidden_count.asked_of(members.get(asked_hidden_count.FIELD)),
            admission=admission_of(members.get(asked_admission.ADMISSION)),
            relay=relay_of(members.get(asked_admission.RELAY)),
            target=AskedTarget.from_members(members),
            plan=plan,
        )
        if event.labels or segments:
            event.require_labels_of(draft.statistic_with(draft.parameters))
        draft.window(datetime(2000, 1, 1, tzinfo=UTC))
        _ = draft.dummies
        asked_admission.require_hidden_senders(
            draft.parameters, token=draft.admission == Admission.TOKEN, relay=draft.relay
        )
        if draft.target is not None:
            asked_target.require_protected(
                token=draft.admission == Admission.TOKEN,
                relay=draft.relay,
                sampling_rate=draft.parameters.sampling_rate,
                hidden_count=draft.hidden_count is not None,
                segments=bool(segments),
            )
            draft.target.floor(draft.parameters)
        return draft

    @cached_property
    def dummies(self) -> Dummies | None:
        """What hides the number of reports, with its rate; FieldError where nothing can."""
        return asked_hidden_count.dummies_asked(
            self.hidden_count,
            statistic_class(self.statistic),
            self.parameters,
            segments=bool(self.segments),
            population_size=self.plan.population_size,
        )

    def window(self, now: datetime) -> tuple[datetime, datetime]:
        """Opening and closing time; FieldError where the closing does not come after the opening."""
        opens_at = self.opens_at or now.replace(microsecond=0)
        try:
            duration = timedelta(seconds=self.parameters.step_count * (self.step_seconds or 0))
            closes_at = self.closes_at or opens_at + duration + GRACE
            if self.opens_at is None and closes_at <= opens_at:
                opens_at = closes_at - duration - GRACE
        except OverflowError:
            raise FieldError("step_seconds", "times the steps must end before the year 9999") from None
        if self.opens_at and self.closes_at and closes_at <= opens_at:
            raise _closes_too_early()
        return opens_at, closes_at

    def calibrated_statistic(self) -> Statistic[Any]:
        """The statistic with its derived parameters computed.

        Raises:
            FieldError: they cannot be met; or the stated aggregator target is not, and what would meet it.
        """
        return self._mechanism

    def statistic_with(self, parameters: PublicParameters) -> Statistic[Any]:
        """The statistic that is asked, with these parameters; FieldError where it cannot have them."""
        return statistic_of(self.statistic, parameters, self.segments, self.dummies).named(self.event.labels)

    @cached_property
    def _mechanism(self) -> Statistic[Any]:
        # Computing them takes up to seconds, and publishing asks more than once.
        mechanism = self.statistic_with(self.parameters.calibrated())
        mechanism.require_releasable()
        try:
            mechanism.require_promise()
        except FieldError as refusal:
            raise FieldError(refusal.field, f"{refusal.message}; {remedies(mechanism)}") from None
        return mechanism

    def asked_members(self) -> dict[str, Any]:
        """The members of the document that publishing does not make: all but name, times, servers, whom of
        the population it asks, and who may report on which way."""
        return {
            "question": self.question,
            "statistic": self.statistic,
            **self.event.members(),
            **asked_segments.members(self.segments),
            **asked_hidden_count.document_members(self.dummies),
            "trust": self.trust.value,
            "population": self.population,
            **self.calibrated_statistic().parameters.as_dict(),
            **({} if self.encryption is None else {"encryption": self.encryption}),
            **({} if self.step_seconds is None else {"step_seconds": self.step_seconds}),
        }

    def publish(
        self,
        servers: Servers,
        now: datetime,
        *,
        simulation: bool = False,
        admission: TokenAdmission | None = None,
        relay: str | None = None,
        target: CitedTarget | None = None,
    ) -> "PublishedRecipe":
        """The recipe as it will stand for good: keys, times and derived parameters filled in.

        Args:
            servers: of the trust model `trust`, their keys freshly made for this recipe and of the
                scheme `encryption`.
            now: the opening time if none was chosen.
            simulation: whether the reports come from simulated devices; such a recipe
                is not bound by its times, and real devices refuse it.
            admission: who issues its tokens, where the draft asks for them; their key is of this recipe only.
            relay: address at the relay that leads to the publishing site, where the draft asks for one.
            target: the draft's, with the results that show how many devices are in it.

        Raises:
            FieldError: the recipe would already be closed, or cannot be calibrated.
            ValueError: servers of another trust model or scheme, or more or less than the draft asks for.
        """
        if (admission is not None, relay is not None) != (self.admission == Admission.TOKEN, self.relay):
            raise ValueError("issuer and relay must be given exactly where the draft asks for them")
        if asked_target.target_of(target) != asked_target.target_of(self.target):
            raise ValueError("the target must be the draft's")
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
        return PublishedRecipe(
            format=FORMAT,
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
            event=self.event,
            segments=self.segments,
            dummies=self.dummies,
            admission=admission,
            relay=relay,
            round=self.round,
            target=target,
        )

    def as_dict(self) -> dict[str, Any]:
        """The members that `from_mapping` reads."""
        members: dict[str, Any] = {
            "name": self.name,
            "question": self.question,
            "statistic": self.statistic,
            "population": self.population,
            "trust": self.trust.value,
            **self.parameters.as_dict(),
            **self.event.members(),
            **asked_segments.members(self.segments),
            **asked_hidden_count.file_members(self.hidden_count),
            **asked_admission.draft_members(self.admission, self.relay),
            **({} if self.target is None else self.target.members()),
            **self.plan.members(),
        }
        optional = {"encryption": self.encryption, "step_seconds": self.step_seconds}
        members |= {name: value for name, value in optional.items() if value is not None}
        times = {"opens_at": self.opens_at, "closes_at": self.closes_at}
        return members | {name: format_time(time) for name, time in times.items() if time is not None}


@dataclass(frozen=True, kw_only=True)
class PublishedRecipe:
    """A published recipe. Equal documents have equal identifiers.

    Attributes:
        format: version of the document's format; the members that it has not stay absent, or the
            identifier would be another.
        population: as in `RecipeDraft`; None in a document of the first format.
        servers: who holds the private keys.
        event, segments: as in `RecipeDraft`; their members are absent where they are not given.
        dummies: what hides the number of reports; None where nothing does.
        admission: who issues the tokens with which devices report; None where anybody may.
        relay: address at a relay that leads to the publishing site, without a trailing slash: devices use no
            other way. None where they speak with the servers directly.
        round: which round of a recipe in rounds it is; None where it is none.
        target: which devices of the population are asked, and the results that show how many they are; None
            where all are asked.
    """

    format: str
    name: str
    question: str
    statistic: str
    population: str | None
    parameters: PublicParameters
    servers: Servers
    step_seconds: int | None
    opens_at: datetime
    closes_at: datetime
    simulation: bool
    event: AskedEvent = NOTHING_NAMED
    segments: tuple[str, ...] = ()
    dummies: Dummies | None = None
    admission: TokenAdmission | None = None
    relay: str | None = None
    round: AskedRound | None = None
    target: CitedTarget | None = None

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> Self:
        """Read a published document strictly.

        Raises:
            FieldError: an unknown, missing or impossible member.
            InvalidKeyError: a public key that this version cannot use.
        """
        members = dict(document)
        format_ = _require_format(members.pop("format", None))
        absent = ABSENT_MEMBERS.get(format_, frozenset())
        statistic = statistic_class(members.get("statistic"))
        trust = _trust(members.get("trust", FIRST.value), statistic)
        own_fields = document_fields(statistic, trust)
        for name in own_fields:
            if name not in members and name not in absent and name not in OPTIONAL_FIELDS:
                raise FieldError(name, "is missing")
        for name in sorted(absent & members.keys()):
            raise FieldError(name, f"is not a member of a {format_} document")
        servers_class = TRUST_MODELS[trust]
        server_members = {name: members.pop(name) for name in servers_class.member_names if name in members}
        servers = servers_class.from_members(server_members)
        if members.get("encryption") != servers.scheme:
            raise FieldError("encryption", f"must be the scheme of {servers_class.member_names[-1]}")
        if (servers.scheme is not None) != servers_class.encrypts(statistic):
            raise FieldError(
                f"{servers_class.member_names[-1]}.public_key",
                "is missing" if servers.scheme is None else f"must be left out for {statistic.statistic}",
            )
        event = AskedEvent.from_members(members, statistic, null_is_absent=False)
        segments = asked_segments.segments_of(members, statistic, null_is_absent=False)
        simulation = members.pop("simulation", None)
        if not isinstance(simulation, bool):
            raise FieldError("simulation", "must be true or false")
        parameter_members = {name: value for name, value in members.items() if name not in own_fields}
        for name in statistic.parameters_class.required_names():
            # Defaults and derivations are a draft's; here they would change what was signed.
            if parameter_members.get(name) is None:
                raise FieldError(name, "is missing")
        parameters = statistic.parameters_class.from_mapping(parameter_members)
        parameters.require_derived()
        asked_admission.require_hidden_senders(
            parameters, token=asked_admission.ADMISSION in members, relay=asked_admission.RELAY in members
        )
        dummies = asked_hidden_count.dummies_stated(members, statistic, parameters, segments=bool(segments))
        target = CitedTarget.from_members(members, parameters)
        if target is not None:
            asked_target.require_protected(
                token=asked_admission.ADMISSION in members,
                relay=asked_admission.RELAY in members,
                sampling_rate=parameters.sampling_rate,
                hidden_count=dummies is not None,
                segments=bool(segments),
            )
        opens_at = parse_time("opens_at", members["opens_at"])
        closes_at = parse_time("closes_at", members["closes_at"])
        if closes_at <= opens_at:
            raise _closes_too_early()
        if event.labels or segments:
            event.require_labels_of(statistic_of(statistic.statistic, parameters, segments))
        return cls(
            format=format_,
            name=one_line("name", members["name"], NAME_LENGTH),
            question=one_line("question", members["question"], QUESTION_LENGTH),
            statistic=statistic.statistic,
            population=require_population_name(members["population"]) if "population" in members else None,
            parameters=parameters,
            servers=servers,
            step_seconds=STEP_SECONDS.check("step_seconds", int, members["step_seconds"])
            if "step_seconds" in own_fields
            else None,
            opens_at=opens_at,
            closes_at=closes_at,
            simulation=simulation,
            event=event,
            segments=segments,
            dummies=dummies,
            admission=TokenAdmission.from_members(members[asked_admission.ADMISSION])
            if asked_admission.ADMISSION in members
            else None,
            relay=require_url(asked_admission.RELAY, members[asked_admission.RELAY])
            if asked_admission.RELAY in members
            else None,
            round=AskedRound.from_members(members[asked_round.FIELD])
            if asked_round.FIELD in members
            else None,
            target=target,
        )

    @classmethod
    def verified(
        cls,
        document: Mapping[str, object],
        identifier: str,
        signature: bytes,
        verification_key: Ed25519PublicKey,
        *,
        partner_key: Ed25519PublicKey | None = None,
        partner_signature: bytes | None = None,
        issuer_key: Ed25519PublicKey | None = None,
        issuer_signature: bytes | None = None,
    ) -> Self:
        """Read a document as a device must: identifier, signatures and promise checked.

        Args:
            verification_key: of the server that published it, pinned beforehand.
            partner_key, partner_signature: of the helper, or of the shuffler, pinned likewise; recipes of
                more servers than one need both, others have no use for them.
            issuer_key, issuer_signature: of the issuer of tokens, pinned likewise; recipes with tokens need
                both, others have no use for them.

        Raises:
            RecipeVerificationError: the identifier is not the document's hash, or a signature is not the
                server's; or helper, shuffler or issuer is not the one whose key is pinned.
            FieldError: as of `from_document`; or the document is the server's, but what it derived
                does not keep the guarantee that it names (`Mechanism.require_promise`).
            InvalidKeyError: as of `from_document`.
        """
        context = _signature_context(document.get("format"))
        try:
            canonical = canonical_json(document)
        except NoCanonicalFormError as error:
            raise RecipeVerificationError(f"the document has no canonical form: {error}") from error
        if hashlib.sha256(canonical).hexdigest() != identifier:
            raise RecipeVerificationError("the identifier is not the SHA-256 of the document")
        try:
            verification_key.verify(signature, context + canonical)
        except InvalidSignature:
            raise RecipeVerificationError("the signature is not the server's") from None
        recipe = cls.from_document(document)
        message = context + canonical
        recipe.servers.require_signed(message, partner_key, partner_signature)
        if recipe.admission is not None:
            require_signed_by("issuer", recipe.admission.issuer_key, message, issuer_key, issuer_signature)
        recipe.calibrated_statistic.require_promise()
        return recipe

    @property
    def trust(self) -> Trust:
        """Who sees what devices send."""
        return self.servers.trust

    @property
    def document(self) -> dict[str, Any]:
        """Every public parameter, as plain JSON values."""
        newer = {"trust": self.trust.value, "population": self.population}
        absent = ABSENT_MEMBERS.get(self.format, frozenset())
        return {
            "format": self.format,
            "name": self.name,
            "question": self.question,
            "statistic": self.statistic,
            **self.event.members(),
            **asked_segments.members(self.segments),
            **asked_hidden_count.document_members(self.dummies),
            **asked_admission.document_members(self.admission, self.relay),
            **asked_round.document_members(self.round),
            **({} if self.target is None else self.target.members()),
            **{name: value for name, value in newer.items() if name not in absent},
            **self.parameters.as_dict(),
            **({} if self.servers.scheme is None else {"encryption": self.servers.scheme}),
            **self.servers.members(),
            **({} if self.step_seconds is None else {"step_seconds": self.step_seconds}),
            "opens_at": format_time(self.opens_at),
            "closes_at": format_time(self.closes_at),
            "simulation": self.simulation,
        }

    @cached_property
    def canonical(self) -> bytes:
        """The document's canonical JSON (RFC 8785)."""
        return rfc8785.dumps(self.document)

    @cached_property
    def identifier(self) -> str:
        """SHA-256 of the canonical document, 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical).hexdigest()

    @property
    def signed_message(self) -> bytes:
        """What every server of the recipe signs with Ed25519."""
        return _signature_context(self.format) + self.canonical

    def sign(self, signing_key: Ed25519PrivateKey) -> bytes:
        """A server's Ed25519 signature, 64 bytes."""
        return signing_key.sign(self.signed_message)

    @cached_property
    def public_key(self) -> PublicKey:
        """The key under which devices of this recipe encrypt."""
        return self.servers.public_key(self.identifier)

    @cached_property
    def calibrated_statistic(self) -> Statistic[Any]:
        """The statistic with these parameters."""
        statistic = statistic_of(self.statistic, self.parameters, self.segments, self.dummies)
        return statistic.named(self.event.labels)

    def label(self, position: int) -> str:
        """What one value of the answer is called: by the recipe, else by the statistic."""
        return self.event.labels[position] if self.event.labels else self.calibrated_statistic.label(position)


def format_time(time: datetime) -> str:
    """RFC 3339 in UTC with whole seconds: 2026-01-31T12:00:00Z."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(field: str, value: object) -> datetime:
    """An RFC 3339 time with a zone, in UTC and whole seconds; FieldError otherwise."""
    refusal = FieldError(
        field,
        "must be a time with a zone in the years 1970 to 9998, e.g. 2026-01-31T12:00:00Z, not "
        f"{as_typed(value)}",
    )
    if not isinstance(value, str):
        raise refusal
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise refusal from None
    if time.tzinfo is None or not 1970 <= time.year < 9999:
        raise refusal
    return time.astimezone(UTC).replace(microsecond=0)


def require_population_name(value: object) -> str:
    """The name of a population; FieldError unless it is 1 to 60 of the characters a-z, 0-9 and -."""
    if not isinstance(value, str) or not POPULATION_PATTERN.fullmatch(value):
        raise FieldError("population", "must be 1 to 60 of the characters a-z, 0-9 and -")
    return value


def draft_fields(statistic: type[Statistic[Any]], trust: Trust) -> tuple[str, ...]:
    """What a recipe file may have beside the statistic's own parameters."""
    asked = [name for name in document_fields(statistic, trust) if name != asked_round.FIELD]
    return (*asked, *plan_fields(statistic))


def document_fields(statistic: type[Statistic[Any]], trust: Trust) -> tuple[str, ...]:
    """`DRAFT_FIELDS` without those that say nothing of such a recipe."""
    silent = {"labels"} if statistic.scalar else set()
    if not asked_segments.allowed(statistic):
        silent.add(asked_segments.FIELD)
    if not asked_hidden_count.allowed(statistic):
        silent.add(asked_hidden_count.FIELD)
    if "steps" not in statistic.parameters_class.names():
        silent.add("step_seconds")
    if not TRUST_MODELS[trust].encrypts(statistic):
        silent.add("encryption")
    if not TRUST_MODELS[trust].takes_reports:
        silent.update(asked_admission.FIELDS)
    if "sampling_rate" not in statistic.parameters_class.names():
        silent.update(asked_target.FIELDS)
    if not issubclass(statistic, CohortStatistic):
        silent.add(asked_round.FIELD)
    return tuple(name for name in DRAFT_FIELDS if name not in silent)


SERIES_FIELDS = ("every", "rounds", "until", "donation_rounds", "round_seconds", "public_input")
"""What files of series and of recipes in rounds have beside the members of a recipe file."""


def unknown_field(name: str, statistic: type[Statistic[Any]], trust: Trust) -> FieldError:
    """The refusal of a member that a recipe file of this kind has not, with all those that it may have."""
    parameters = statistic.parameters_class
    given = [field for field in parameters.names() if field not in parameters.derived_names()]
    if name in SERIES_FIELDS:
        return FieldError(name, "is a field of a series, not of a recipe: publish this as a series")
    fields = ", ".join((*draft_fields(statistic, trust), *given, *TRUST_MODELS[trust].lists))
    return FieldError(name, f"is not a field of a {statistic.statistic} recipe; it has {fields}")


def _trust(value: object, statistic: type[Statistic[Any]]) -> Trust:
    """The trust model of that name; FieldError unless `statistic` can be asked under it."""
    if not isinstance(value, str) or value not in trusts_of(statistic):
        allowed = " or ".join(trust.value for trust in trusts_of(statistic))
        raise FieldError("trust", f"must be {allowed} for {statistic.statistic}, not {as_typed(value)}")
    return trust_named(value)


@lru_cache(maxsize=256)
def recipe_of(document: str) -> PublishedRecipe:
    """The recipe of a stored canonical document (cached: a document never changes)."""
    return PublishedRecipe.from_document(json.loads(document))


def _require_format(value: object) -> str:
    if not isinstance(value, str) or value not in FORMATS:
        raise FieldError("format", f"must be {' or '.join(FORMATS)}, not {as_typed(value)}")
    return value


def _signature_context(format_: object) -> bytes:
    """What precedes the signed bytes, so that a signature on a recipe is never one on something else."""
    return _require_format(format_).encode() + b"\n"


def _closes_too_early() -> FieldError:
    return FieldError("closes_at", "must be later than opens_at")


def _optional_time(field: str, value: object) -> datetime | None:
    return None if value is None else parse_time(field, value)
