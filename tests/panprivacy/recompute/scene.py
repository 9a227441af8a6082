"""A bundle of a recipe with a joint key, made from the library alone, and a log in memory that has it."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.formats import base64_text
from panprivacy.protocols.joint_key.sums import DecryptionPart, ciphertext_sum
from panprivacy.protocols.signed_count import ReleasedCount
from panprivacy.recipe.accepted_list import PART_REPORTS, SHOWN_BYTES, AcceptedList, joint_key_of, part_digest
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.signed_result import result_hash, sign_result
from panprivacy.recipe.statistic import statistic_as
from panprivacy.recompute.bundle import REPORTS, BundleContent
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.shares import Shares, shares_document
from panprivacy.statistics.trust_models import under_trust
from panprivacy.statistics.trust_models.joint_key import ROLES
from tests.panprivacy.device.public_log import MemoryLog, other_entries
from tests.panprivacy.device.server import SIGNING_KEY, VERIFICATION_KEY
from tests.panprivacy.recipe.joint_key_scene import JointRecipe, joint_recipe
from tests.tokens import ISSUER_KEY

HELPER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(128, 160)))
NUMBER = 12
"""Reports in the bundle."""

Files = dict[str, bytes]
"""Name → content of every file of a bundle."""


@dataclass
class Scene:
    """A recipe, its reports, and what both servers made of them.

    Attributes:
        records: token and encrypted bit of each report, in the order of the list.
        count: of ones among them.
        cut: reports in each part of the list.
    """

    joint: JointRecipe
    records: list[bytes]
    count: int
    source: random.Random
    cut: int = PART_REPORTS

    @property
    def recipe(self) -> PublishedRecipe:
        return self.joint.recipe

    def is_one(self, encoded: bytes) -> bool:
        """Whether an encrypted bit is 1, which no server can find out alone."""
        bit = joint_key_of(self.recipe).parse(encoded)
        return bool(bit.c[1] != bit.c[0] * (self.joint.secrets[0] + self.joint.secrets[1]))

    def accepted(self, records: Sequence[bytes] | None = None) -> AcceptedList:
        """The list of these reports, or of all."""
        chosen = self.records if records is None else records
        parts = [b"".join(chosen[start : start + self.cut]) for start in range(0, len(chosen), self.cut)]
        return AcceptedList.of(self.recipe.identifier, len(chosen), [part_digest(part) for part in parts])

    def decryptions(self) -> dict[str, bytes]:
        """Both servers' parts of the decryption."""
        key, accepted = joint_key_of(self.recipe), self.accepted()
        total = ciphertext_sum(key.parse(record[SHOWN_BYTES:]).c for record in self.records)
        return {
            role: DecryptionPart.made(accepted.decryption_context(role), total, secret, self.source).encode()
            for role, secret in zip(ROLES, self.joint.secrets, strict=True)
        }

    def content(self) -> BundleContent:
        """All of the bundle but the reports, with a log that has it."""
        listed, result = self.accepted(), signed(result_of(self.recipe, self.count, len(self.records)))
        proofs = log_proofs(self.recipe.identifier, listed, result)
        return BundleContent(
            verification_key=VERIFICATION_KEY,
            recipe=served(self.recipe),
            accepted=listed,
            list_signatures={"leader": listed.sign(SIGNING_KEY), "helper": listed.sign(HELPER_KEY)},
            decryptions=self.decryptions(),
            result=result,
            recipe_proof=proofs["recipe.proof"],
            list_proof=proofs["list.proof"],
            result_proof=proofs["result.proof"],
        )

    def files(self) -> Files:
        """Every file of the bundle."""
        return self.content().files() | {REPORTS: b"".join(self.records)}


def scene(number: int = NUMBER, *, seed: int = 38, cut: int = PART_REPORTS, **changes: Any) -> Scene:
    """A recipe with this number of reports, half from devices with an event."""
    source = random.Random(seed)
    joint = joint_recipe(source, **changes)
    records = joint.records(number, source)
    made = Scene(joint, records, 0, source, cut)
    return replace(made, count=sum(made.is_one(record[SHOWN_BYTES:]) for record in records))


@cache
def the_scene() -> Scene:
    """The one that most tests share; they must not change it."""
    return scene()


@cache
def _files() -> Mapping[str, bytes]:
    return the_scene().files()


def valid_files() -> Files:
    """Those of `the_scene`, to be changed."""
    return dict(_files())


def written(folder: Path, files: Mapping[str, bytes]) -> Path:
    """The folder with these files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def served(recipe: PublishedRecipe, key: Ed25519PrivateKey = SIGNING_KEY) -> dict[str, Any]:
    """The recipe as the API serves it, signed by all."""
    message = recipe.signed_message
    return {
        "id": recipe.identifier,
        "document": recipe.document,
        "signature": base64_text.encode(key.sign(message)),
        "helper_signature": base64_text.encode(HELPER_KEY.sign(message)),
        "shuffler_signature": None,
        "issuer_signature": base64_text.encode(ISSUER_KEY.sign(message)),
        "status": "closed",
        "guarantees": [],
    }


def result_of(recipe: PublishedRecipe, count: int, reports: int) -> dict[str, Any]:
    """What the site signs of a released result, with every field that `results.documents` gives it."""
    statistic = statistic_as(recipe, CohortStatistic)
    estimate = statistic.estimate((count,), reports)
    widest = estimate.stated_intervals()[0]
    counted, event = ReleasedCount(recipe.identifier, reports), recipe.event
    signatures = {"Leader": counted.sign(SIGNING_KEY), "Helper": counted.sign(HELPER_KEY)}
    made = {
        "id": recipe.identifier,
        "recipe": recipe.document,
        "outcome": "released",
        "released_at": "2026-02-01T00:00:00Z",
        "software": "panapp 0.2.0",
        "simulation": recipe.simulation,
        "trust": "joint_key",
        "rejected": {},
        "servers": [
            {
                "name": name,
                "url": "",
                "counted": reports,
                "rejected": {},
                "signature": base64_text.encode(one),
            }
            for name, one in signatures.items()
        ],
        "guarantees": [each.as_dict() for each in under_trust(statistic.guarantees(), recipe.trust)],
        "plan": None,
        "reports": reports,
        "admission": {"issued": reports, "accepted": reports, "allowed": None},
        "unit": statistic.unit,
        "event": recipe.event_name,
        "events": list(recipe.event_names),
        "event_definition": event.definition,
        "labels": list(statistic.labels),
        "value_labels": list(event.labels) or None,
        "estimate": list(estimate.values),
        "standard_error": list(estimate.standard_errors) or None,
        "standard_error_note": estimate.standard_error_note,
        "interval": {"level": widest.level, "low": widest.low, "high": widest.high, "together": 1},
        "error_bound": None,
        **shares_document(Shares.from_reports(statistic, reports), estimate.values, widest),
        "confidence": None,
        "projection": list(estimate.projection),
        "details": {},
        "segments": None,
    }
    if statistic.robustness is not None:
        made["robustness"] = statistic.robustness.as_dict()
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]


def signed(result: Mapping[str, Any], key: Ed25519PrivateKey = SIGNING_KEY) -> dict[str, Any]:
    """The same with a signature of it as it is."""
    return {**result, "signature": base64_text.encode(sign_result(result, key)[1])}


def entry(action: str, subject: str, details: Mapping[str, Any]) -> bytes:
    """Of the log."""
    return rfc8785.dumps(
        {"action": action, "commitment": "0" * 64, "details": dict(details), "subject": subject}
    )


def log_of(identifier: str, listed: AcceptedList, result: Mapping[str, Any]) -> MemoryLog:
    """A log whose entries 3, 5 and 7 (from 0) are of the recipe, its list and its result."""
    first, second, third = (
        entry("recipe_published", identifier, {}),
        entry("list_accepted", identifier, {"list": listed.digest, "reports": listed.reports}),
        entry("result_released", identifier, {"reports": listed.reports, "result": result_hash(result)}),
    )
    others = other_entries(6)
    return MemoryLog([*others[:3], first, others[3], second, others[4], third, others[5]], 3)


PLACES = {"recipe.proof": 3, "list.proof": 5, "result.proof": 7}


def proof_at(log: MemoryLog, index: int) -> bytes:
    """The proof of an entry."""
    log.index = index
    return log.proof()


def log_proofs(identifier: str, listed: AcceptedList, result: Mapping[str, Any]) -> Files:
    """The three proofs; the recipe's is as of an earlier state of the log."""
    log = log_of(identifier, listed, result)
    proofs = {name: proof_at(log, index) for name, index in PLACES.items()}
    log.show(log.entries, 5)
    return proofs | {"recipe.proof": proof_at(log, 3)}


def json_of(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """The content of a file."""
    found: dict[str, Any] = json.loads(files[name])
    return found


def edit(files: Files, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a JSON file in place."""
    content = json_of(files, name)
    change(content)
    files[name] = json.dumps(content).encode()


def edit_result(files: Files, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the result as a site does that cheats: it signs it, and its log has the hash."""
    result = json_of(files, "result.json")
    change(result)
    del result["signature"]
    files["result.json"] = json.dumps(signed(result)).encode()
    relog(files)


def relog(files: Files) -> None:
    """Make the log's proofs fit the list and the result."""
    listed = json_of(files, "list.json")
    accepted = AcceptedList(listed["recipe"], listed["reports"], listed["list"])
    identifier = json_of(files, "recipe.json")["id"]
    files |= log_proofs(identifier, accepted, json_of(files, "result.json"))
