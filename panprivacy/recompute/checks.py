"""What is checked of a bundle, in order: each check a name, and a sentence on what holds or does not."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from panprivacy.accounting.guarantees import main_guarantee
from panprivacy.accounting.trust import Trust
from panprivacy.formats.canonical_json import canonical_json
from panprivacy.formats.display import plain
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.protocols.joint_key.groups import Pair1
from panprivacy.protocols.joint_key.keys import ProofRefusedError
from panprivacy.protocols.joint_key.sums import DecryptionPart, ciphertext_sum, count_of, decode_total
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.conclusions import CONCLUDED
from panprivacy.protocols.transparency.counts import counts_signed
from panprivacy.protocols.transparency.findings import CheckError, json_object
from panprivacy.protocols.transparency.merkle import ProofError
from panprivacy.protocols.transparency.policy import Policy, QuorumError
from panprivacy.protocols.transparency.proof import Proof
from panprivacy.protocols.transparency.signed_note import (
    ED25519,
    Note,
    NoteError,
    VerifierKey,
    require_signed,
)
from panprivacy.recipe.accepted_list import LIST_ACCEPTED, AcceptedList, ListRefusedError, disorder_of
from panprivacy.recipe.document import FORMAT, PublishedRecipe
from panprivacy.recipe.log.checks import PUBLISHED
from panprivacy.recipe.signed_documents import require_signed as require_document_signed
from panprivacy.recipe.signed_result import UNSIGNED, result_hash, verify_result
from panprivacy.recipe.statistic import statistic_as
from panprivacy.recipe.token import tokens_of
from panprivacy.recompute.agreement import Comparison, is_near
from panprivacy.recompute.bundle import LIST, NAMES, REPORTS, Bundle
from panprivacy.recompute.reports import (
    Part,
    Progress,
    Source,
    Workers,
    parts_of,
    proofs_checked,
    tokens_checked,
    workers_for,
)
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.intervals.estimate import Estimate, Interval
from panprivacy.statistics.shares import Shares, shares_document
from panprivacy.statistics.trust_models import under_trust
from panprivacy.statistics.trust_models.joint_key import ROLES, JointKeyServers
from panprivacy.statistics.trust_models.members import require_signed_by


@dataclass(frozen=True)
class Line:
    """The outcome of one check.

    Attributes:
        name: of the check; see `CHECKS`.
        holds: whether it does.
        sentence: what holds, or what does not.
    """

    name: str
    holds: bool
    sentence: str


class Recomputation:
    """The checks of one bundle, run once.

    Args:
        folder: of the bundle.
        policy: whose log and witnesses are believed, with the site's key; None to take the key that the
            bundle names.
        latest: seconds since 1970; a witness's signature of a later time does not count. None if no clock
            is asked.
        source: makes the randomness with which proofs are checked: `secrets.SystemRandom`. The servers must
            not predict it.
        processes: that share the work on reports, at least 1.
        progress: notified of each part of the reports.
    """

    bundle: Bundle
    recipe: PublishedRecipe
    servers: JointKeyServers
    statistic: CohortStatistic[Any]
    total: Pair1
    count: int
    estimate: Estimate
    result: Comparison

    def __init__(
        self,
        folder: Path,
        *,
        policy: Policy | None = None,
        latest: int | None = None,
        source: Source,
        processes: int = 1,
        progress: Progress = lambda name, seen, reports: None,  # noqa: ARG005
    ) -> None:
        self.folder, self.policy, self.latest = folder, policy, latest
        self._source, self._processes, self._progress = source, processes, progress
        self._running = ExitStack()
        self._disorder = ""
        self._digests: list[bytes] = []
        self._parts: list[DecryptionPart] = []

    def lines(self) -> Iterator[Line]:
        """Run the checks, in order; the first that fails is the last line."""
        with self._running:
            for name, check in CHECKS.items():
                try:
                    sentence = check(self)
                # Whatever a hostile bundle provokes is an error of its own kind.
                except (ValueError, ArithmeticError, OSError, RecursionError) as error:
                    yield Line(name, False, str(error) or type(error).__name__)
                    return
                yield Line(name, True, sentence)

    @property
    def not_recomputed(self) -> list[str]:
        """Signed fields of the result that were compared with nothing, by name, after all checks."""
        return [name for name in self.result.others if name not in UNSIGNED]

    @property
    def not_signed(self) -> list[str]:
        """Fields of the result that only a simulation has, and that its site does not sign, by name."""
        return [name for name in self.result.others if name in UNSIGNED[1:]]

    @property
    def answer(self) -> str:
        """The result in words, after all checks."""
        (value,), reports = self.estimate.values, self.bundle.reports
        answer = f"{self.statistic.title}: {value:,.1f} by estimate"
        interval = next(iter(self.estimate.stated_intervals()), None)
        if interval is not None:
            answer += f", {interval.level:.0%} interval {_ends(interval, ',.1f')}"
        return f"{answer}, from {reports:,} reports."

    # What was published -------------------------------------------------------

    def _files(self) -> str:
        self.bundle = Bundle.read(self.folder)
        return f"All {len(NAMES)} files are there, with {self.bundle.reports:,} reports."

    def _recipe(self) -> str:
        bundle = self.bundle
        if self.policy is not None and self._site_key not in {log.key for log in self.policy.logs}:
            raise CheckError("the site's key in bundle.json is not the key of a log of the policy")
        if bundle.signature is None:
            raise CheckError("the site's signature of the recipe is missing")
        require_document_signed(
            bundle.document, bundle.identifier, bundle.signature, bundle.site_key, format_=FORMAT
        )
        recipe = PublishedRecipe.from_document(bundle.document)
        servers = recipe.servers
        if recipe.trust is not Trust.JOINT_KEY or not isinstance(servers, JointKeyServers):
            raise CheckError(f"the recipe has no joint key: its trust model is {recipe.trust.value}")
        self.recipe, self.servers = recipe, servers
        self.statistic = statistic_as(recipe, CohortStatistic)
        self.statistic.require_promise()
        where = "of bundle.json" if self.policy is None else "of the policy"
        return f"The identifier {recipe.identifier} is its hash, and the site's key {where} signed it."

    def _helpers_signature(self) -> str:
        key = self.servers.helper_verification_key
        if key == self.bundle.site_key.public_bytes_raw():
            raise CheckError("the recipe names the site itself as its helper: one server is not two")
        self._require_signed_by("helper", key, self.bundle.helper_signature)
        return f"The helper that the recipe names, {self.servers.helper_url}, signed it."

    def _issuers_signature(self) -> str:
        issuer = tokens_of(self.recipe)
        if issuer.issuer_key == self.bundle.site_key.public_bytes_raw():
            raise CheckError("the recipe names the site itself as its issuer: it could make tokens at will")
        self._require_signed_by("issuer", issuer.issuer_key, self.bundle.issuer_signature)
        return f"The issuer of tokens that the recipe names, {issuer.issuer_name}, signed it."

    def _key_halves(self) -> str:
        self.servers.require_made(self.bundle.document)
        return "Both servers proved that they know their halves of the key."

    def _recipe_in_log(self) -> str:
        _, sentence = self._entry(self.bundle.recipe_proof, PUBLISHED)
        return sentence

    # What was accepted --------------------------------------------------------

    def _tokens(self) -> str:
        reports, seen, last = self.bundle.reports, 0, b""
        for tokens in self._workers.each(tokens_checked, self._cut()):
            self._disorder = self._disorder or disorder_of(tokens.nonces, seen + 1, last)
            seen, last = seen + len(tokens.nonces), tokens.nonces[-1]
            self._digests.append(tokens.digest)
            self._progress("tokens", seen, reports)
        return f"The issuer signed all {reports:,} tokens for this recipe, and each device its report."

    def _reports(self) -> str:
        listed = self.bundle.accepted
        if listed.reports != self.bundle.reports:
            raise CheckError(
                f"{REPORTS} has {self.bundle.reports:,} reports, and {LIST} names {listed.reports:,}"
            )
        if self._disorder:
            raise CheckError(self._disorder)
        return f"All {listed.reports:,} are there, in the order of their tokens, and no token is there twice."

    def _proofs(self) -> str:
        totals, seen = [], 0
        sums = self._workers.each(proofs_checked, self._cut(), self._source)
        for found, digest in zip(sums, self._digests, strict=True):
            if found.digest != digest:
                raise CheckError(f"{REPORTS} was changed while it was read")
            totals.append(decode_total(found.total))
            seen += found.reports
            self._progress("proofs", seen, self.bundle.reports)
        self.total = ciphertext_sum(totals)
        return f"Each of the {self.bundle.reports:,} reports is an encrypted 0 or 1."

    def _list(self) -> str:
        listed, recipe = self.bundle.accepted, self.recipe
        if listed.recipe != recipe.identifier:
            raise CheckError("the list is of another recipe")
        if listed != AcceptedList.of(recipe.identifier, self.bundle.reports, self._digests):
            raise CheckError(f"the hash in {LIST} is not the hash of these reports")
        keys = {
            "leader": self.bundle.site_key,
            "helper": public_key_of(self.servers.helper_verification_key),
        }
        for role, key in keys.items():
            signature = self.bundle.list_signatures[role]
            if signature is None:
                raise CheckError(f"the {role}'s signature of the list is missing")
            try:
                listed.verify(signature, key)
            except ListRefusedError:
                raise CheckError(f"the signature of the list is not the {role}'s") from None
        return "Both servers signed the hash of exactly these reports."

    def _list_in_log(self) -> str:
        bundle = self.bundle
        entry, sentence = self._entry(bundle.list_proof, (LIST_ACCEPTED,))
        details, listed = _details(entry), bundle.accepted
        if (details.get("list"), details.get("reports")) != (listed.digest, listed.reports):
            raise CheckError("the log has another list of this recipe")
        checkpoint, after = bundle.list_proof.checkpoint, bundle.result_proof.checkpoint
        for other in (bundle.recipe_proof.checkpoint, after):
            _require_same_log(checkpoint, other)
        if checkpoint.size != after.size:
            # Of two states, only a consistency proof would show that they are of one log.
            raise CheckError(
                f"its proof and the result's must be of one state of the log, not of {checkpoint.size:,} and "
                f"{after.size:,} entries"
            )
        if not bundle.recipe_proof.index < bundle.list_proof.index < bundle.result_proof.index:
            raise CheckError("its entry is not after the recipe's and before the result's")
        return f"{sentence} It comes before the result's."

    # What was decrypted -------------------------------------------------------

    def _leaders_part(self) -> str:
        return self._part_of("leader")

    def _helpers_part(self) -> str:
        return self._part_of("helper")

    def _part_of(self, role: str) -> str:
        part = DecryptionPart.decode(self.bundle.decryptions[role])
        half = self.servers.halves[0][ROLES.index(role)]
        try:
            part.require_proved(self.bundle.accepted.decryption_context(role), self.total, half)
        except ProofRefusedError:
            raise CheckError(
                f"the proof does not hold for the {role}'s key and the sum of these reports"
            ) from None
        self._parts.append(part)
        return f"The {role} proved its part of the decryption of the sum of these reports."

    def _count(self) -> str:
        bundle = self.bundle
        self.count = count_of(self.total, self._parts, bundle.reports)
        other = self._stated_count()
        if other is not None and other != self.count:
            raise CheckError(
                f"{self.count:,} of the {bundle.reports:,} reports have a 1, and the result was made "
                f"from {other:,}"
            )
        return f"{self.count:,} of the {bundle.reports:,} reports have a 1, after the devices' coins."

    def _stated_count(self) -> int | None:
        """The number of ones that gives the stated estimate, which is linear in it; None if none does."""
        stated = self.bundle.result.get("estimate")
        if not isinstance(stated, list) or len(stated) != 1 or type(stated[0]) not in (int, float):
            return None
        reports = self.bundle.reports
        ((none,), (one,)) = (self.statistic.debiased((ones,), reports) for ones in (0, 1))
        try:
            ones = round((stated[0] - none) / (one - none))
        except (ArithmeticError, ValueError):  # of numbers that are far too large
            return None
        (value,) = self.statistic.debiased((ones,), reports)
        return ones if is_near(stated[0], value) else None

    # What was released --------------------------------------------------------

    def _results_recipe(self) -> str:
        self.result = Comparison(self.bundle.result)
        recipe, statistic, event = self.recipe, self.statistic, self.recipe.event
        stated = self.bundle.result.get("recipe")
        if not isinstance(stated, dict) or canonical_json(stated) != recipe.canonical:
            raise CheckError("the result is of another recipe")
        if self.bundle.result.get("outcome") != "released":
            raise CheckError("the result was withheld: there is no estimate")
        self.result.compared.add("recipe")
        robustness = statistic.robustness
        self.result.require(
            {
                "id": recipe.identifier,
                "outcome": "released",
                "simulation": recipe.simulation,
                "trust": recipe.trust.value,
                "reports": self.bundle.reports,
                "unit": statistic.unit,
                "event": recipe.event_name,
                "events": recipe.event_names,
                "event_definition": event.definition,
                "labels": statistic.labels,
                "value_labels": event.labels or None,
                "segments": None,
                **({} if robustness is None else {"robustness": robustness.as_dict()}),
            }
        )
        servers = self.bundle.result.get("servers")
        for server in servers if isinstance(servers, list) else []:
            if not isinstance(server, dict) or server.get("counted") != self.bundle.reports:
                raise CheckError(f"a server counted otherwise than the {self.bundle.reports:,} reports")
        return f"The result is of this recipe, and of {self.bundle.reports:,} reports."

    def _estimate(self) -> str:
        reports = self.bundle.reports
        self.estimate = made = self.statistic.estimate((self.count,), reports)
        interval = next(iter(made.stated_intervals()), None)
        shares = shares_document(Shares.from_reports(self.statistic, reports), made.values, interval)
        self._shared_interval = shares["share_interval"]
        self.result.require(
            {
                "estimate": made.values,
                "projection": made.projection,
                "share_of": shares["share_of"],
                "share": shares["share"],
                "details": made.details,
            }
        )
        return f"{self.count:,} ones of {reports:,} reports give {plain(made.values[0], '.6g')}."

    def _standard_error(self) -> str:
        made = self.estimate
        self.result.require(
            {
                "standard_error": made.standard_errors or None,
                "standard_error_note": made.standard_error_note,
            }
        )
        return f"{plain(made.standard_errors[0], '.6g')}, as these numbers give it."

    def _interval(self) -> str:
        made = self.estimate
        interval = next(iter(made.stated_intervals()), None)
        if interval is None:
            raise CheckError("none follows from these numbers")
        self.result.require(
            {
                "interval": {
                    "level": interval.level,
                    "low": interval.low,
                    "high": interval.high,
                    "together": len(made.values),
                },
                "share_interval": self._shared_interval,
                "error_bound": made.error_bounds or None,
                "confidence": made.confidence,
            }
        )
        return f"{_ends(interval, '.6g')}, at the level of {interval.level:.0%}."

    def _guarantees(self) -> str:
        least = self.statistic.cohort_size
        if self.bundle.reports < least:
            raise CheckError(f"{self.bundle.reports:,} reports are fewer than the cohort size of {least:,}")
        guarantees = under_trust(self.statistic.guarantees(), self.recipe.trust)
        stated = [guarantee.as_dict() for guarantee in guarantees]
        self.result.require({"guarantees": stated})
        main = main_guarantee(stated)
        first = (
            ""
            if main is None or main["epsilon"] is None
            else (f" Readers of the result: ε = {plain(main['epsilon'], '.4g')}, δ = {plain(main['delta'])}.")
        )
        return f"All {len(stated)} are as the recipe's parameters give them.{first}"

    def _results_signature(self) -> str:
        result = self.bundle.result
        verify_result(result, self.bundle.site_key)
        counted = counts_signed(result, self.bundle.document, [self.bundle.site_key])
        return " ".join(("The site signed exactly this result.", *counted.sentences))

    def _result_in_log(self) -> str:
        bundle = self.bundle
        entry, sentence = self._entry(bundle.result_proof, CONCLUDED[:1])
        details = _details(entry)
        if details.get("result") != result_hash(bundle.result):
            raise CheckError("the log has another result of this recipe")
        if "reports" in details and details["reports"] != bundle.reports:
            raise CheckError("the log has another number of reports of this result")
        return sentence

    # Helpers ------------------------------------------------------------------

    @property
    def _site_key(self) -> bytes:
        return self.bundle.site_key.public_bytes_raw()

    @cached_property
    def _workers(self) -> Workers:
        """For all checks; they end with the last one."""
        return self._running.enter_context(workers_for(self.bundle.reports, self._processes))

    def _cut(self) -> Iterator[Part]:
        return parts_of(self.recipe, self.bundle.reports_file, self.bundle.reports)

    def _require_signed_by(self, role: str, key: bytes, signature: bytes | None) -> None:
        # The recipe names the key: no other one is pinned.
        require_signed_by(role, key, self.recipe.signed_message, public_key_of(key), signature)

    def _entry(self, proof: Proof, actions: tuple[str, ...]) -> tuple[Mapping[str, Any], str]:
        """The entry of a proof, checked to be of this recipe and in the log; and its place, as a sentence."""
        if not proof.extra:
            raise CheckError("the proof has no entry with it")
        entry = json_object(proof.extra, "entry in the proof")
        if entry.get("action") not in actions or entry.get("subject") != self.recipe.identifier:
            raise CheckError(f"the proof is of another entry of the log than {actions[0]} of this recipe")
        try:
            whose = self._witnesses(proof)
        except QuorumError as error:
            raise CheckError(str(error)) from None
        except (NoteError, ProofError) as error:
            raise CheckError(f"the proof does not hold: {error}") from None
        checkpoint = proof.checkpoint
        place = f"It is entry {proof.index + 1:,} of {checkpoint.size:,} in the log {checkpoint.origin}"
        return entry, f"{place}, {whose}."

    def _witnesses(self, proof: Proof) -> str:
        """Who signed the checkpoint of a proof that holds."""
        if self.policy is None:
            # A site signs its log with the key with which it signs recipes.
            key = VerifierKey(proof.checkpoint.origin, ED25519, self._site_key)
            require_signed(Note.decode(proof.note), [key])
            proof.verify_path(proof.extra)
            return "which the site signed"
        accepted = proof.verify(proof.extra, self.policy, latest=self.latest)
        own = {log.key for log in self.policy.logs if log.name == accepted.checkpoint.origin}
        if self._site_key not in own:
            raise CheckError(f"the log {accepted.checkpoint.origin} is not the site's own")
        names = ", ".join(sorted(witness.name for witness in accepted.witnesses))
        return f"which the site signed, and {names or 'no witness'}"


def _ends(interval: Interval, form: str) -> str:
    return " to ".join("∞" if end is None else plain(end, form) for (end,) in (interval.low, interval.high))


def _details(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    found = entry.get("details")
    if not isinstance(found, dict):
        raise CheckError("the entry of the log has no details")
    return found


def _require_same_log(one: Checkpoint, other: Checkpoint) -> None:
    if one.origin != other.origin:
        raise CheckError(f"the proofs are of two logs: {one.origin} and {other.origin}")
    if one.size == other.size and one.root != other.root:
        raise CheckError(f"the proofs are of two states of the log that have {one.size:,} entries each")


CHECKS: Final[Mapping[str, Callable[[Recomputation], str]]] = {
    "files": Recomputation._files,
    "recipe": Recomputation._recipe,
    "helper's signature": Recomputation._helpers_signature,
    "issuer's signature": Recomputation._issuers_signature,
    "key halves": Recomputation._key_halves,
    "recipe in the log": Recomputation._recipe_in_log,
    "tokens": Recomputation._tokens,
    "reports": Recomputation._reports,
    "proofs": Recomputation._proofs,
    "list": Recomputation._list,
    "list in the log": Recomputation._list_in_log,
    "leader's part": Recomputation._leaders_part,
    "helper's part": Recomputation._helpers_part,
    "result's recipe": Recomputation._results_recipe,
    "count": Recomputation._count,
    "estimate": Recomputation._estimate,
    "standard error": Recomputation._standard_error,
    "interval": Recomputation._interval,
    "guarantees": Recomputation._guarantees,
    "result's signature": Recomputation._results_signature,
    "result in the log": Recomputation._result_in_log,
}
"""Name → check, in the order in which they run: each may use what the ones before it found."""
