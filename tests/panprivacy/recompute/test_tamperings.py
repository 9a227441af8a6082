"""What each tampering with a bundle, by a stranger or by a server that cheats, is refused with."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.formats import base64_text
from panprivacy.protocols.joint_key.sums import DecryptionPart, ciphertext_sum
from panprivacy.recipe.accepted_list import RECORD_BYTES, SHOWN_BYTES, AcceptedList, joint_key_of
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recompute.checks import CHECKS, Recomputation
from tests.panprivacy.device.public_log import MemoryLog, other_entries
from tests.panprivacy.device.server import SIGNING_KEY
from tests.panprivacy.recipe.joint_key_scene import joint_recipe
from tests.panprivacy.recompute.scene import (
    HELPER_KEY,
    Files,
    edit,
    edit_result,
    entry,
    json_of,
    log_of,
    proof_at,
    relog,
    result_of,
    served,
    signed,
    the_scene,
    valid_files,
    written,
)

STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(range(64, 96)))
SOURCE = random.Random(381)


def other_recipe() -> PublishedRecipe:
    return joint_recipe(random.Random(39), question="Another one?").recipe


# Reports ----------------------------------------------------------------------


def records_of(files: Files) -> list[bytes]:
    content = files["reports.bin"]
    return [content[start : start + RECORD_BYTES] for start in range(0, len(content), RECORD_BYTES)]


def with_records(change: Callable[[list[bytes]], object]) -> Callable[[Files], None]:
    def tamper(files: Files) -> None:
        records = records_of(files)
        change(records)
        files["reports.bin"] = b"".join(records)

    return tamper


def by_nonce(record: bytes) -> bytes:
    return record[18:34]


def with_own_report(records: list[bytes]) -> None:
    records.append(the_scene().joint.report(1, SOURCE))
    records.sort(key=by_nonce)


def from_a_device(bit: Callable[[list[bytes]], bytes]) -> Callable[[Files], None]:
    """In place of a report, another device's with these bytes, under a token of its own."""

    def change(records: list[bytes]) -> None:
        records[3] = the_scene().joint.signed(bit(records), SOURCE)
        records.sort(key=by_nonce)

    return with_records(change)


def with_token(place: int, token: Callable[[list[bytes]], bytes]) -> Callable[[Files], None]:
    def change(records: list[bytes]) -> None:
        records[place] = token(records) + records[place][SHOWN_BYTES:]

    return with_records(change)


def with_bit(place: int, bit: Callable[[list[bytes]], bytes]) -> Callable[[Files], None]:
    def change(records: list[bytes]) -> None:
        records[place] = records[place][:SHOWN_BYTES] + bit(records)

    return with_records(change)


def of_another_recipe_shown() -> bytes:
    joint = joint_recipe(random.Random(39), question="Another one?")
    return joint.report(1, SOURCE)[:SHOWN_BYTES]


def flipped(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


# Lists and parts of the decryption --------------------------------------------


def with_list_of(records: int, *, helper: bool, log: bool) -> Callable[[Files], None]:
    """A list of the first reports alone, signed by the leader and perhaps the helper."""

    def tamper(files: Files) -> None:
        kept = records_of(files)[:records]
        files["reports.bin"] = b"".join(kept)
        accepted = the_scene().accepted(kept)
        signers = {"leader": SIGNING_KEY} | ({"helper": HELPER_KEY} if helper else {})
        made = {role: base64_text.encode(accepted.sign(key)) for role, key in signers.items()}

        def change(listed: dict[str, Any]) -> None:
            listed |= {"reports": accepted.reports, "list": accepted.digest}
            listed["signatures"] |= made

        edit(files, "list.json", change)
        if log:
            relog(files)

    return tamper


def relisted(**changes: Any) -> Callable[[Files], None]:
    return lambda files: edit(files, "list.json", lambda listed: listed.update(changes))


def with_part(role: str, change: Callable[[bytes], bytes]) -> Callable[[Files], None]:
    def tamper(files: Files) -> None:
        part = base64_text.decode(json_of(files, "decryptions.json")[role])
        made = base64_text.encode(change(part))
        edit(files, "decryptions.json", lambda parts: parts.update({role: made}))

    return tamper


def swap_parts(files: Files) -> None:
    edit(
        files, "decryptions.json", lambda parts: parts.update(leader=parts["helper"], helper=parts["leader"])
    )


def part_over(records: slice, context: AcceptedList | None = None) -> Callable[[bytes], bytes]:
    """The leader's part of the sum of some of the reports only."""

    def made(_: bytes) -> bytes:
        scene = the_scene()
        key = joint_key_of(scene.recipe)
        total = ciphertext_sum(key.parse(record[SHOWN_BYTES:]).c for record in scene.records[records])
        bound = (context or scene.accepted()).decryption_context("leader")
        return DecryptionPart.made(bound, total, scene.joint.secrets[0], SOURCE).encode()

    return made


OTHER_LIST = AcceptedList("0" * 64, 12, "0" * 64)


# Recipes ----------------------------------------------------------------------


def resigned_recipe(change: Callable[[dict[str, Any]], object]) -> Callable[[Files], None]:
    """Another document in place of the recipe's, signed by all of its servers."""

    def tamper(files: Files) -> None:
        document = json_of(files, "recipe.json")["document"]
        change(document)
        edit(files, "recipe.json", lambda _: _.update(served(PublishedRecipe.from_document(document))))

    return tamper


def swap_halves(document: dict[str, Any]) -> None:
    leader, helper = document["leader"], document["helper"]
    leader["key"], helper["key"] = helper["key"], leader["key"]


def half_of_another(document: dict[str, Any]) -> None:
    document["helper"]["key"] = other_recipe().document["helper"]["key"]


def unsigned(role: str) -> Callable[[Files], None]:
    return lambda files: edit(files, "recipe.json", lambda _: _.update({f"{role}_signature": None}))


def signed_by_stranger(name: str) -> Callable[[Files], None]:
    signature = base64_text.encode(STRANGER.sign(the_scene().recipe.signed_message))
    return lambda files: edit(files, "recipe.json", lambda _: _.update({name: signature}))


# Results ----------------------------------------------------------------------


def cheat(change: Callable[[dict[str, Any]], object]) -> Callable[[Files], None]:
    """A site that publishes another result: signed by it, and with its hash in the log."""
    return lambda files: edit_result(files, change)


def silently(change: Callable[[dict[str, Any]], object]) -> Callable[[Files], None]:
    return lambda files: edit(files, "result.json", change)


def of_count(count: int) -> Callable[[dict[str, Any]], object]:
    recipe, reports = the_scene().recipe, len(the_scene().records)
    return lambda result: result.update(result_of(recipe, count, reports))


def raised(value: float, by: float = 0.25) -> float:
    return value + by


def narrower(result: dict[str, Any]) -> None:
    result["interval"]["high"] = [end - 1 for end in result["interval"]["high"]]


def guaranteed(name: str, value: float) -> Callable[[dict[str, Any]], object]:
    """Of the first guarantee against readers of the result."""

    def change(result: dict[str, Any]) -> None:
        next(one for one in result["guarantees"] if one["model"] == "aggregator")[name] = value

    return change


def of_another_recipe(result: dict[str, Any]) -> None:
    result.update(result_of(other_recipe(), 6, 12))


def not_in_the_log(files: Files) -> None:
    result = json_of(files, "result.json")
    result["released_at"] = "2026-02-02T00:00:00Z"
    files["result.json"] = dumped(signed(result))


def dumped(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode()


# Proofs of the log ------------------------------------------------------------


def the_log() -> MemoryLog:
    return log_of(
        the_scene().recipe.identifier, the_scene().accepted(), json_of(valid_files(), "result.json")
    )


def of_another_tree(name: str, index: int) -> Callable[[Files], None]:
    """A path in a tree that has other entries, below a checkpoint of the site's own log."""

    def tamper(files: Files) -> None:
        log = the_log()
        note = log.note()
        log.show([*other_entries(index, "fork"), *log.entries[index:]])
        log.note = lambda: note  # type: ignore[method-assign]
        files[name] = proof_at(log, index)

    return tamper


def of_a_fork(files: Files) -> None:
    """Another state of the log of the same size, which the site signed, too."""
    log = the_log()
    log.show([*other_entries(5, "fork"), *log.entries[5:]])
    files["list.proof"] = proof_at(log, 5)


def of_a_smaller_log(files: Files) -> None:
    """The list's proof as of an earlier state, which need not be of the same log."""
    log = the_log()
    log.show(log.entries, 7)
    files["list.proof"] = proof_at(log, 5)


def of_a_strangers_log(files: Files) -> None:
    files["recipe.proof"] = (
        files["recipe.proof"].rpartition(b" ")[0] + b" " + base64_text.encode(bytes(68)).encode() + b"\n"
    )


def listed_after_the_result(files: Files) -> None:
    log = the_log()
    entries = list(log.entries)
    entries[5], entries[7] = entries[7], entries[5]
    log.show(entries)
    files["list.proof"], files["result.proof"] = proof_at(log, 7), proof_at(log, 5)


def another_list_in_the_log(files: Files) -> None:
    log = the_log()
    entries = list(log.entries)
    entries[5] = entry("list_accepted", the_scene().recipe.identifier, {"list": "0" * 64, "reports": 12})
    log.show(entries)
    files["list.proof"] = proof_at(log, 5)


TAMPERINGS: list[tuple[str, Callable[[Files], None], str]] = [
    (
        "report dropped",
        with_records(lambda records: records.pop()),
        "reports: reports.bin has 11 reports, and list.json names 12",
    ),
    (
        "report added, with a token of its own",
        with_records(with_own_report),
        "reports: reports.bin has 13 reports, and list.json names 12",
    ),
    (
        "report and token doubled, in place of another",
        with_records(lambda records: records.__setitem__(4, records[3])),
        "reports: report 5 has the token of the one before it",
    ),
    (
        "reports in another order",
        with_records(lambda records: records.reverse()),
        "reports: report 2 is out of order",
    ),
    (
        "token reused for another report",
        with_token(8, lambda records: records[2][:SHOWN_BYTES]),
        "tokens: report 9: the token is not one that the recipe's issuer signed for this report",
    ),
    (
        "token of another recipe",
        with_token(8, lambda _: of_another_recipe_shown()),
        "tokens: report 9: the token is of another recipe",
    ),
    (
        "token that the issuer did not sign",
        with_token(8, lambda records: flipped(records[8][:SHOWN_BYTES], 353)),
        "tokens: report 9: the token is not one that the recipe's issuer signed for this report",
    ),
    (
        "ciphertext changed",
        with_bit(3, lambda records: records[4][SHOWN_BYTES:][:96] + records[3][SHOWN_BYTES + 96 :]),
        "tokens: report 4: the token is not one that the recipe's issuer signed for this report",
    ),
    (
        "proof swapped with another report's",
        with_bit(3, lambda records: records[3][SHOWN_BYTES:][:-192] + records[4][-192:]),
        "tokens: report 4: the token is not one that the recipe's issuer signed for this report",
    ),
    (
        "report replaced by another valid one under its token",
        with_bit(3, lambda _: the_scene().joint.report(1, SOURCE)[SHOWN_BYTES:]),
        "tokens: report 4: the token is not one that the recipe's issuer signed for this report",
    ),
    (
        "ciphertext of another report, signed by its device",
        from_a_device(lambda records: records[4][SHOWN_BYTES:][:96] + records[3][SHOWN_BYTES + 96 :]),
        "proofs: report …: its proof does not hold",
    ),
    (
        "proof of another report, signed by its device",
        from_a_device(lambda records: records[3][SHOWN_BYTES:][:-192] + records[4][-192:]),
        "proofs: report …: its proof does not hold",
    ),
    (
        "bytes that are no ciphertext, signed by their device",
        from_a_device(lambda _: bytes(864)),
        "proofs: report …: an encrypted bit with its proof must be a point of G1 …",
    ),
    (
        "report replaced by another valid one with a token of its own",
        from_a_device(lambda _: the_scene().joint.report(1, SOURCE)[SHOWN_BYTES:]),
        "list: the hash in list.json is not the hash of these reports",
    ),
    (
        "list's hash changed",
        relisted(list="0" * 64),
        "list: the hash in list.json is not the hash of these reports",
    ),
    ("list of another recipe", relisted(recipe="0" * 64), "list: the list is of another recipe"),
    (
        "report dropped by the leader alone",
        with_list_of(11, helper=False, log=True),
        "list: the signature of the list is not the helper's",
    ),
    (
        "list without the helper's signature",
        lambda files: edit(files, "list.json", lambda _: _["signatures"].pop("helper")),
        "list: the helper's signature of the list is missing",
    ),
    (
        "report dropped by both servers after the list was in the log",
        with_list_of(11, helper=True, log=False),
        "list in the log: the log has another list of this recipe",
    ),
    (
        "another list in the log",
        another_list_in_the_log,
        "list in the log: the log has another list of this recipe",
    ),
    (
        "list entered in the log after the result",
        listed_after_the_result,
        "list in the log: its entry is not after the recipe's and before the result's",
    ),
    (
        "log proof of another entry",
        lambda files: files.update({"list.proof": files["result.proof"]}),
        "list in the log: the proof is of another entry of the log than list_accepted of this recipe",
    ),
    (
        "two states of the log",
        of_a_fork,
        "list in the log: the proofs are of two states of the log that have 9 entries each",
    ),
    (
        "list and result in two sizes of the log",
        of_a_smaller_log,
        "list in the log: its proof and the result's must be of one state of the log, not of 7 and 9 entries",
    ),
    (
        "report dropped by both servers, parts of all reports",
        with_list_of(11, helper=True, log=True),
        "leader's part: the proof does not hold for the leader's key and the sum of these reports",
    ),
    (
        "servers' parts swapped",
        swap_parts,
        "leader's part: the proof does not hold for the leader's key and the sum of these reports",
    ),
    (
        "part of the sum of other reports",
        with_part("leader", part_over(slice(11))),
        "leader's part: the proof does not hold for the leader's key and the sum of these reports",
    ),
    (
        "part made for another list",
        with_part("leader", part_over(slice(12), OTHER_LIST)),
        "leader's part: the proof does not hold for the leader's key and the sum of these reports",
    ),
    (
        "partial decryption changed",
        with_part("helper", lambda part: the_scene().records[0][SHOWN_BYTES:][:48] + part[48:]),
        "helper's part: the proof does not hold for the helper's key and the sum of these reports",
    ),
    (
        "proof of the partial decryption changed",
        with_part("helper", lambda part: flipped(part, -1)),
        "helper's part: the proof does not hold for the helper's key and the sum of these reports",
    ),
    (
        "result of another recipe, by the site",
        cheat(of_another_recipe),
        "result's recipe: the result is of another recipe",
    ),
    (
        "number of reports changed, by the site",
        cheat(lambda result: result.update(reports=13)),
        "result's recipe: reports is stated as 13, but is 12",
    ),
    (
        "server's count changed, by the site",
        cheat(lambda result: result["servers"][1].update(counted=9)),
        "result's recipe: a server counted otherwise than the 12 reports",
    ),
    (
        "count changed, by the site",
        cheat(of_count(11)),
        "count: 6 of the 12 reports have a 1, and the result was made from 11",
    ),
    (
        "estimate changed, by the site",
        cheat(lambda result: result.update(estimate=[raised(*result["estimate"])])),
        "estimate: estimate[0] is stated as 6.25, but is 6.0",
    ),
    (
        "estimate changed, unsigned",
        silently(lambda result: result.update(estimate=[raised(*result["estimate"])])),
        "estimate: estimate[0] is stated as 6.25, but is 6.0",
    ),
    (
        "share changed, by the site",
        cheat(lambda result: result.update(share=[0.25])),
        "estimate: share[0] is stated as 0.25, but is 0.5",
    ),
    (
        "standard error changed, by the site",
        cheat(lambda result: result.update(standard_error=[1.5])),
        "standard error: standard_error[0] is stated as 1.5, but is 1.47…",
    ),
    (
        "interval narrowed, by the site",
        cheat(narrower),
        "interval: interval.high[0] is stated as 8.0, but is 9.0",
    ),
    (
        "ε changed, by the site",
        cheat(guaranteed("epsilon", 0.5)),
        "guarantees: guarantees[2].epsilon is stated as 0.5, but is 1.99…",
    ),
    (
        "δ changed, by the site",
        cheat(guaranteed("delta", 1e-9)),
        "guarantees: guarantees[2].delta is stated as 1e-09, but is 1e-06",
    ),
    (
        "anything else in the result changed",
        silently(lambda result: result.update(released_at="2026-02-02T00:00:00Z")),
        "result's signature: the signature is not the site's, or the result was changed",
    ),
    (
        "result signed that is not in the log",
        not_in_the_log,
        "result in the log: the log has another result of this recipe",
    ),
    (
        "log proof of the result in another tree",
        of_another_tree("result.proof", 7),
        "result in the log: the proof does not hold: the proof leads to another root",
    ),
    (
        "log proof of the recipe in another tree",
        of_another_tree("recipe.proof", 3),
        "recipe in the log: the proof does not hold: the proof leads to another root",
    ),
    (
        "log proof with another signature",
        of_a_strangers_log,
        "recipe in the log: the proof does not hold: no key that is known has signed the note",
    ),
    (
        "recipe changed",
        lambda files: edit(files, "recipe.json", lambda _: _["document"].update(epsilon=3.0)),
        "recipe: the identifier is not the SHA-256 of the document",
    ),
    (
        "recipe signed by another site",
        signed_by_stranger("signature"),
        "recipe: the signature is not the server's",
    ),
    (
        "recipe without the helper's signature",
        unsigned("helper"),
        "helper's signature: the helper's signature is missing",
    ),
    (
        "recipe with another helper's signature",
        signed_by_stranger("helper_signature"),
        "helper's signature: the signature is not the helper's",
    ),
    (
        "recipe with another issuer's signature",
        signed_by_stranger("issuer_signature"),
        "issuer's signature: the signature is not the issuer's",
    ),
    (
        "key halves swapped",
        resigned_recipe(swap_halves),
        "key halves: the leader's half of the joint key: the proof of knowledge does not hold",
    ),
    (
        "key half of another recipe",
        resigned_recipe(half_of_another),
        "key halves: the …'s half of the joint key: the proof of knowledge does not hold",
    ),
]
"""What was changed, how, and the line that is printed after `fails`; … is any text."""


@pytest.mark.parametrize(
    ("tamper", "expected"), [row[1:] for row in TAMPERINGS], ids=[row[0] for row in TAMPERINGS]
)
def test_tampering_fails_with_its_own_name(tamper, expected: str, tmp_path: Path) -> None:
    files = valid_files()
    tamper(files)
    found = Recomputation(written(tmp_path, files), source=lambda: SOURCE)
    *held, last = found.lines()
    assert [line.name for line in held] == list(CHECKS)[: len(held)]
    assert not last.holds
    assert re.fullmatch(".*".join(map(re.escape, expected.split("…"))), f"{last.name}: {last.sentence}")
