"""The public recipe: the question, the devices that are asked, the protection and the key.

A recipe is published as a JSON document. Its identifier is the SHA-256 of the
document's canonical form (RFC 8785), and the server signs that form with Ed25519.
Devices check both before they take part, so a server cannot show two devices different recipes under one
identifier, nor change a parameter after publication.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from panprivacy.accounting.trust import Trust
from panprivacy.encryption import require_fresh
from panprivacy.encryption.interface import PublicKey
from panprivacy.formats.errors import FieldError
from panprivacy.formats.lines import one_line
from panprivacy.formats.parameters import PublicParameters, as_typed
from panprivacy.formats.times import LATEST, format_time, parse_time, time_after
from panprivacy.protocols.hpke import KemName
from panprivacy.recipe.fields import (
    NAME_LENGTH,
    QUESTION_LENGTH,
    STEP_SECONDS,
    own_fields,
    read_parts,
    require_open_for_steps,
    require_population_name,
    steps_duration,
)
from panprivacy.recipe.parts import PARTS
from panprivacy.recipe.parts.admission import TokenAdmission
from panprivacy.recipe.parts.event import NO_NAMES
from panprivacy.recipe.parts.interface import PartValue, RecipeOfParts, Subject
from panprivacy.recipe.parts.round import RoundPlace
from panprivacy.recipe.parts.target import CitedTarget
from panprivacy.recipe.signed_documents import SignedDocument, require_signed
from panprivacy.statistics.catalogue import statistic_class, statistic_of
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models import (
    TRUST_MODELS,
    Servers,
    statistic_under_trust,
    trust_of,
)
from panprivacy.statistics.trust_models.members import require_signed_by

if TYPE_CHECKING:
    from panprivacy.statistics.events.dummies import Dummies

FORMAT = "panapp-recipe-3"
"""Version of the documents' format; a parser refuses any other."""

IDENTIFIER_PATTERN = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class PublishedRecipe(RecipeOfParts, SignedDocument):
    """A published recipe. Equal documents have equal identifiers.

    Attributes:
        servers: the holders of the private keys.
        population: as in `RecipeDraft`.
        parts: by its name the value of each optional part that the recipe has (`parts.PARTS`).
        event, segments, round: as in `RecipeDraft`.
        dummies: what hides the number of reports; None if nothing does.
        admission: the issuer of the tokens with which devices report; None if any sender may report.
        relay: address at a relay that leads to the publishing site, without a trailing slash: devices use no
            other path. None if they connect to the servers directly.
        hpke: the KEM with which devices seal what they send, where HPKE seals it.
        target: which devices of the population are asked, and the results that show how many they are; None
            if all are asked.
    """

    name: str
    question: str
    statistic: str
    population: str
    parameters: PublicParameters
    servers: Servers
    step_seconds: int | None
    opens_at: datetime
    closes_at: datetime
    simulation: bool
    parts: Mapping[str, Any] = field(default_factory=dict, hash=False)
    format: str = FORMAT

    event = PartValue("event", NO_NAMES)
    segments = PartValue[tuple[str, ...]]("segments", ())
    dummies: ClassVar["PartValue[Dummies | None]"] = PartValue("hidden_count", None)
    admission = PartValue[TokenAdmission | None]("admission", None)
    relay = PartValue[str | None]("relay", None)
    hpke = PartValue("hpke", KemName.X25519)
    round = PartValue[RoundPlace | None]("round", None)
    target = PartValue[CitedTarget | None]("target", None)

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> Self:
        """Read a published document strictly.

        Raises:
            FieldError: an unknown, missing or impossible field.
            InvalidKeyError: a public key that this version cannot use.
        """
        members = dict(document)
        _require_format(members.pop("format", None))
        statistic = statistic_class(members.get("statistic"))
        trust = trust_of(members.get("trust"), statistic)
        servers_class = TRUST_MODELS[trust]
        subject = Subject(statistic, servers_class)
        own = own_fields(subject)
        for name in own:
            if name not in members:
                raise FieldError(name, "is missing")
        server_members = {name: members.pop(name) for name in servers_class.member_names if name in members}
        servers = servers_class.from_members(server_members)
        if members.get("encryption") != servers.scheme:
            raise FieldError("encryption", f"must be the scheme of {servers_class.member_names[-1]}")
        if (servers.scheme is not None) != servers_class.encrypts(statistic):
            raise FieldError(
                f"{servers_class.member_names[-1]}.public_key",
                "is missing" if servers.scheme is None else f"must be left out for {statistic.statistic}",
            )
        simulation = members.pop("simulation", None)
        if not isinstance(simulation, bool):
            raise FieldError("simulation", "must be true or false")
        parts = read_parts(
            members,
            subject,
            read=lambda part, fields: part.read_document(fields),
            unknown=lambda name: FieldError(name, f"is not a field of a {statistic.statistic} recipe"),
        )
        parameter_members = {name: value for name, value in members.items() if name not in own}
        for name in statistic.parameters_class.required_names():
            # Only a draft has defaults and derivations; here they would change the signed document.
            if parameter_members.get(name) is None:
                raise FieldError(name, "is missing")
        parameters = statistic.parameters_class.from_mapping(parameter_members)
        parameters.require_derived()
        _require_canonical(parameter_members, parameters.as_dict())
        opens_at = parse_time("opens_at", members["opens_at"])
        closes_at = parse_time("closes_at", members["closes_at"])
        step_seconds = None
        if "step_seconds" in own:
            step_seconds = STEP_SECONDS.check("step_seconds", int, members["step_seconds"])
        require_open_for_steps("closes_at", closes_at - opens_at, timedelta(0))
        if time_after(opens_at, steps_duration(parameters, step_seconds)) is None:
            raise FieldError("step_seconds", f"must be so short that the steps end by the year {LATEST.year}")
        recipe = cls(
            name=one_line("name", members["name"], NAME_LENGTH),
            question=one_line("question", members["question"], QUESTION_LENGTH),
            statistic=statistic.statistic,
            population=require_population_name(members["population"]),
            parameters=parameters,
            servers=servers,
            step_seconds=step_seconds,
            opens_at=opens_at,
            closes_at=closes_at,
            simulation=simulation,
            parts=parts,
        )
        for part in PARTS.values():
            part.check(recipe)
        _ = statistic_under_trust(recipe.plain_statistic, trust)
        if statistic.fresh_ciphertexts and servers.scheme is not None:
            require_fresh(servers.scheme)
        return recipe

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
            partner_key, partner_signature: of the helper, or of the shuffler, also pinned; recipes with more
                than one server need both, others do not use them.
            issuer_key, issuer_signature: of the issuer of tokens, also pinned; recipes with tokens need both,
                others do not use them.

        Raises:
            RecipeVerificationError: the identifier is not the document's hash, a signature is not the
                server's, or the helper, shuffler or issuer is not the pinned one.
            FieldError: as in `from_document`; or the document is the server's, but its derived parameters do
                not keep the guarantee that it names (`Mechanism.require_promise`).
            InvalidKeyError: as in `from_document`.
        """
        _require_format(document.get("format"))
        require_signed(document, identifier, signature, verification_key, format_=FORMAT)
        recipe = cls.from_document(document)
        message = recipe.signed_message
        recipe.servers.require_signed(message, partner_key, partner_signature)
        recipe.servers.require_made(document)
        if recipe.admission is not None:
            require_signed_by("issuer", recipe.admission.issuer_key, message, issuer_key, issuer_signature)
        recipe.calibrated_statistic.require_promise()
        return recipe

    @property
    def steps_duration(self) -> timedelta:
        """The time that a device takes for its steps."""
        return steps_duration(self.parameters, self.step_seconds)

    @property
    def trust(self) -> Trust:
        """Which server sees what devices send."""
        return self.servers.trust

    @property
    def document(self) -> dict[str, Any]:
        """Every public parameter, as plain JSON values."""
        return {
            "format": self.format,
            "name": self.name,
            "question": self.question,
            "statistic": self.statistic,
            **{
                name: value
                for part in PARTS.values()
                if part.name in self.parts
                for name, value in part.document_fields(self.parts[part.name]).items()
            },
            "trust": self.trust.value,
            "population": self.population,
            **self.parameters.as_dict(),
            **({} if self.servers.scheme is None else {"encryption": self.servers.scheme}),
            **self.servers.members(),
            **({} if self.step_seconds is None else {"step_seconds": self.step_seconds}),
            "opens_at": format_time(self.opens_at),
            "closes_at": format_time(self.closes_at),
            "simulation": self.simulation,
        }

    @cached_property
    def device_key(self) -> PublicKey | None:
        """The key under which devices of this recipe encrypt; None if they encrypt under none."""
        return self.servers.device_key(self.identifier)

    @property
    def public_key(self) -> PublicKey:
        """The same; ValueError if there is none."""
        if self.device_key is None:
            raise ValueError("devices of this recipe encrypt under no key of it")
        return self.device_key

    @cached_property
    def plain_statistic(self) -> Statistic[Any]:
        """The statistic with these parameters and segments."""
        return statistic_of(self.statistic, self.parameters, self.segments)

    @cached_property
    def calibrated_statistic(self) -> Statistic[Any]:
        """The statistic with these parameters."""
        statistic = statistic_of(
            self.statistic, self.parameters, self.segments, self.dummies, self.event.labels
        )
        return statistic_under_trust(statistic, self.trust)

    def label(self, position: int) -> str:
        """The label of one value of the answer: from the recipe, otherwise from the statistic."""
        return self.event.labels[position] if self.event.labels else self.calibrated_statistic.label(position)


@lru_cache(maxsize=256)
def recipe_of(document: str) -> PublishedRecipe:
    """The recipe of a stored canonical document (cached: a document never changes)."""
    return PublishedRecipe.from_document(json.loads(document))


def _require_canonical(given: Mapping[str, object], canonical: Mapping[str, object]) -> None:
    """FieldError naming a parameter that has another form than the one in which it is published: one question
    has one document."""
    for name, value in given.items():
        if value != canonical.get(name):
            form = json.dumps(canonical.get(name), ensure_ascii=False, sort_keys=True)
            raise FieldError(name, f"must have its one published form, {form}")


def _require_format(value: object) -> None:
    if value != FORMAT:
        raise FieldError("format", f"must be {FORMAT}, not {as_typed(value)}")
