"""From the reports of devices to a count that both servers decrypted, and to nothing else."""

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client, override_settings
from django.utils import timezone

from joint_key.helper.keys import KIND
from joint_key.helper.models import JointRecipe
from joint_key.helper.sums import part_check
from joint_key.leader.actions import LIST_ACCEPTED
from joint_key.leader.models import JointSum
from joint_key.leader.sums import REQUESTS_SECONDS, helper_of, sum_drive, sums_take
from joint_key.leader.tasks import drive_sum
from log.audit.models import Entry
from log.audit.registry import Action
from log.public_log.selectors import proof_of_action
from log.public_log.tree_growth import integrate
from panprivacy.formats import base64_text
from panprivacy.protocols.joint_key.groups import G1, decode_scalar
from panprivacy.protocols.joint_key.sums import DecryptionPart, decode_total
from panprivacy.protocols.transparency.proof import Proof
from panprivacy.recipe.accepted_list import RECORD_BYTES, AcceptedList, part_digest, record_nonce
from partners import joint_key_calls
from partners.client import PeerRefusedError
from recipes.actions import RECIPE_PUBLISHED
from recipes.models import Recipe, RecipeKey
from reports.models import AcceptedReport, StoredReports
from reports.proven_rows import accepted_part, accepted_parts
from results.models import Release
from results.trust_models import collection_model_of
from storage.columns import stored
from storage.sealing import secret_unseal
from tests.collections.joint_key.scene import (
    BITS,
    SOURCE,
    answering,
    closed,
    joint_recipe,
    listed,
    release_of,
    report,
    reports_take,
    settle,
    signed,
    sum_of,
    sums_drive,
    there,
    unproved,
)
from tests.collections.publishing.scene import partner, reached
from tests.collections.reports.test_report_api import post_batch, post_one, rejections
from tests.concurrency import KilledError, killed_at_statement
from tests.factories import as_json
from tests.network import Answer, unreachable
from web.problems import Problem

pytestmark = pytest.mark.django_db

REQUESTS = ("/parts/0", "/list", "/decryption", "DELETE")
"""Of one part: to the helper, in their order."""


def entries(action: str) -> int:
    return Entry.objects.filter(action=action).count()


def assert_counted_once(recipe: Recipe, bits: tuple[int, ...] = BITS) -> None:
    """One list, one decryption, one count; no key of it is left, and the reports stay."""
    release, row, other = release_of(recipe), sum_of(recipe), there(recipe)
    assert release.outcome == Release.Outcome.RELEASED, release.reason
    assert (release.reports, row.count) == (len(bits), sum(bits))
    for action in ("list_accepted", "joint_list_signed", "joint_part_given", "joint_recipe_ended"):
        assert entries(action) == 1, action
    assert (row.state, row.is_deleted_there) == (JointSum.State.COUNTED, True)
    assert (other.state, other.sealed) == (JointRecipe.State.ENDED, None)
    assert not RecipeKey.objects.exists()
    assert not StoredReports.objects.exists()
    assert AcceptedReport.objects.filter(recipe=recipe).count() == len(bits)


def assert_withheld(recipe: Recipe, cause: str, words: str) -> None:
    """Nothing was decrypted, and nothing is left of it."""
    release = release_of(recipe)
    assert (release.outcome, release.cause) == (Release.Outcome.WITHHELD, cause)
    assert words in release.reason
    assert sum_of(recipe).count is None
    assert (there(recipe).state, there(recipe).sealed) == (JointRecipe.State.ENDED, None)
    for model in (AcceptedReport, RecipeKey):
        assert not model.objects.exists(), model
    # PostgreSQL deletes these after the commit, which no test with a transaction of its own comes to.
    assert connection.vendor == "postgresql" or not StoredReports.objects.exists()


# Reports ---------------------------------------------------------------------------------------------


def test_reports_come_alone_or_in_batches_each_with_a_token(client: Client) -> None:
    recipe = joint_recipe()
    one, other, late = (report(recipe, 1) for _ in range(3))
    assert post_one(client, recipe, as_json(one)).status_code == 201
    bad: list[tuple[dict[str, Any], str]] = [
        (one, "duplicate_nonce"),
        (signed(recipe, one["ciphertexts"]), "duplicate_ciphertext"),
        (late | {"ciphertexts": one["ciphertexts"]}, "token_invalid"),
        (other | {"token": one["token"]}, "token_invalid"),
        ({name: other[name] for name in ("nonce", "ciphertexts")}, "token_missing"),
        (signed(recipe, [bytes(864)]), "invalid_ciphertext"),
        (other | {"ciphertexts": other["ciphertexts"] * 2}, "wrong_ciphertext_count"),
    ]
    for content, reason in bad:
        answer = post_batch(client, recipe, [content]).json()
        assert [rejected["reason"] for rejected in answer["rejected"]] == [reason]
    assert post_batch(client, recipe, [other]).json() == {"accepted": 1, "rejected": []}
    assert sum(rejections(recipe).values()) == len(bad)


@pytest.mark.parametrize("bits", [BITS, (0,) * 5, (1,) * 5])
def test_result_is_the_number_of_ones_and_everything_else_ends(bits: tuple[int, ...]) -> None:
    recipe = closed(bits)
    settle(issued=len(bits))
    assert_counted_once(recipe, bits)
    release = release_of(recipe)
    statistic = recipe.published.calibrated_statistic
    assert release.values == list(statistic.estimate((sum(bits),), len(bits)).values)


def test_unproved_reports_are_counted_as_rejected_alone() -> None:
    recipe = closed(bad=2)
    settle()
    assert_counted_once(recipe)
    release = release_of(recipe)
    assert release.rejected == {"invalid_proof": 2}
    assert [server["counted"] for server in release.servers] == [len(BITS)] * 2


def test_accepted_reports_are_in_the_order_of_their_nonces() -> None:
    recipe = listed(bad=1)
    (content,) = accepted_parts(recipe)
    nonces = list(AcceptedReport.objects.order_by("nonce").values_list("nonce", flat=True))
    records = [content[at : at + RECORD_BYTES] for at in range(0, len(content), RECORD_BYTES)]
    assert [record_nonce(record) for record in records] == [bytes(nonce) for nonce in nonces]
    assert accepted_part(recipe, after=bytes(nonces[-1])) == (b"", bytes(nonces[-1]))
    assert sum_of(recipe).list == AcceptedList.of("", len(records), [part_digest(content)]).digest


@pytest.mark.parametrize(("good", "bad"), [(4, 3), (0, 5), (3, 0), (0, 0)])
def test_too_few_valid_reports_are_withheld_and_nothing_is_decrypted(good: int, bad: int) -> None:
    recipe = closed((1,) * good, bad=bad)
    settle()
    assert_withheld(recipe, Release.Cause.TOO_FEW, "valid reports than the cohort size of 5")
    assert entries("list_accepted") == entries("joint_list_signed") == entries("joint_part_given") == 0
    # That enough came, and too few were valid, is disclosed: it costs as a result does.
    entry = Entry.objects.get(action="result_withheld")
    assert entry.details["spending_returned"] is (good + bad < 5)


def test_progress_shows_valid_reports_and_the_helpers_trouble() -> None:
    recipe = closed(bad=1)
    for _ in range(2):
        reports_take()
    model = collection_model_of(recipe)
    leader, helper = model.progress(recipe).servers
    assert (leader.counted, helper.counted, helper.trouble) == (len(BITS), 0, None)
    assert leader.public_rejections == {"invalid_proof": 1}
    assert model.partner_must_hear(recipe)
    sums_drive(unreachable)
    trouble = model.progress(recipe).servers[1].trouble
    assert trouble is not None
    assert "ConnectionRefusedError" in trouble.error
    settle()
    assert_counted_once(recipe)
    assert not model.partner_must_hear(recipe)


# The helper refuses, or cheats -----------------------------------------------------------------------


@pytest.mark.parametrize("swapped", [False, True])
def test_helper_checks_reports_itself_and_names_the_first_that_fails(swapped: bool) -> None:
    recipe = closed()
    reports_take()
    # The leader's own check let it pass, or the leader put it under the token of another.
    bad = signed(recipe, report(recipe, 1)["ciphertexts"]) if swapped else unproved(recipe)
    shown = report(recipe, 1) if swapped else bad
    record = shown["token"] + bad["ciphertexts"][0]
    AcceptedReport.objects.create(recipe=recipe, nonce=shown["nonce"], record=record)
    settle(issued=len(BITS) + 1)
    reason = "the token is not one" if swapped else "its proof does not hold"
    assert_withheld(recipe, Release.Cause.REFUSED, "the helper refuses: part 0: report ")
    assert reason in release_of(recipe).reason
    assert entries("list_accepted") == 0


def test_list_that_the_helper_did_not_check_is_not_signed() -> None:
    recipe = closed()
    reports_take()
    identifier, helper = str(recipe.identifier), partner().client()
    content, _ = accepted_part(recipe, after=b"")
    fewer = content[:-RECORD_BYTES]
    right, short = (
        AcceptedList.of(identifier, number, [part_digest(part)])
        for number, part in ((6, content), (5, fewer))
    )

    def sign(accepted: AcceptedList) -> bytes:
        return joint_key_calls.list_sign(
            helper, identifier=identifier, digest=accepted.digest, reports=accepted.reports
        )

    def check(number: int, part: bytes) -> None:
        joint_key_calls.part_check(helper, identifier=identifier, number=number, content=part)

    def refused(words: str, *call: Any) -> None:
        with pytest.raises(PeerRefusedError, match=words):
            call[0](*call[1:])

    refused("that of all parts that were checked", sign, right)
    refused("The next part of the list is 0", check, 1, content)
    refused("not made of whole reports", check, 0, content[1:])
    check(0, content)
    check(0, content)
    refused("Another part 0 of the list was checked", check, 0, fewer)
    refused("every part of the list but the last must have 1,000", check, 1, content)
    refused("that of all parts that were checked", sign, short)
    refused("that of all parts that were checked", sign, replace(right, reports=5))
    assert sign(right) == sign(right)
    refused("The next part of the list is 1, before it is signed", check, 1, content)
    refused("that of all parts that were checked", sign, short)
    check(0, content)
    assert entries("joint_list_signed") == 1


def test_list_below_the_cohort_is_signed_by_no_helper() -> None:
    recipe = closed()
    reports_take()
    identifier, helper = str(recipe.identifier), partner().client()
    content = accepted_part(recipe, after=b"")[0][: 4 * RECORD_BYTES]
    joint_key_calls.part_check(helper, identifier=identifier, number=0, content=content)
    digest = AcceptedList.of(identifier, 4, [part_digest(content)]).digest
    with pytest.raises(PeerRefusedError, match="at least the cohort size of 5, not 4"):
        joint_key_calls.list_sign(helper, identifier=identifier, digest=digest, reports=4)
    assert there(recipe).state == JointRecipe.State.OPEN


def proof_of(recipe: Recipe, action: Action = LIST_ACCEPTED) -> Proof:
    """Of the entry of the leader's log about a recipe."""
    found = proof_of_action([action], str(recipe.identifier))
    assert found is not None
    return found


def changed(proof: Proof, **changes: Any) -> Proof:
    """The entry says something else than the log has."""
    entry = json.loads(proof.extra)
    return replace(proof, extra=json.dumps(entry | changes).encode())


PROOFS: list[tuple[Callable[[Recipe], bytes], str]] = [
    (lambda _: b"", "proof: "),
    (lambda _: b"c2sp.org/tlog-proof@v1\nindex 0\n\n", "proof: "),
    # Without its entry, of another entry, of one that is not there, and of another place.
    (lambda it: replace(proof_of(it), extra=b"").encode(), "proof: "),
    (lambda it: proof_of(it, RECIPE_PUBLISHED).encode(), "must be of the list that was signed"),
    (lambda it: changed(proof_of(it), subject="0" * 64).encode(), "proof: "),
    (lambda it: replace(proof_of(it), index=0).encode(), "proof: "),
]


def test_part_is_given_for_a_proof_of_the_signed_list_only() -> None:
    recipe = listed()
    helper, identifier = partner().client(), str(recipe.identifier)
    for made, words in PROOFS:
        with pytest.raises(PeerRefusedError, match=words):
            joint_key_calls.sum_decrypt(helper, identifier=identifier, proof=made(recipe))
    assert there(recipe).part is None
    assert entries("joint_part_given") == 0
    settle()
    assert_counted_once(recipe)


def test_part_is_not_given_for_a_proof_of_another_servers_log() -> None:
    recipe = closed()
    for _ in range(2):
        reports_take()
    sums_drive()
    with override_settings(SIGNING_KEY=bytes(range(64, 96))):
        integrate()
    with pytest.raises(PeerRefusedError, match="proof: "):
        joint_key_calls.sum_decrypt(
            partner().client(), identifier=str(recipe.identifier), proof=proof_of(recipe).encode()
        )
    assert there(recipe).part is None


def test_part_is_not_given_for_another_recipe_or_before_the_list() -> None:
    first, second = listed(), listed()
    opened = joint_recipe()
    helper = partner().client()
    for recipe, words in ((second, "must be of the list that was signed"), (opened, "must be signed first")):
        with pytest.raises(PeerRefusedError, match=words):
            joint_key_calls.sum_decrypt(
                helper, identifier=str(recipe.identifier), proof=proof_of(first).encode()
            )
        assert there(recipe).part is None


def test_leader_asks_for_no_part_before_the_log_has_the_list() -> None:
    recipe = closed()
    for _ in range(2):
        reports_take()
    for _ in range(2):
        sums_drive()
    assert sum_of(recipe).state == JointSum.State.LISTED
    assert entries("joint_part_given") == 0
    settle()
    assert_counted_once(recipe)


WRONG_PARTS: dict[str, Callable[[DecryptionPart], bytes]] = {
    "of another sum": lambda part: replace(part, point=part.point + G1).encode(),
    "without its proof": lambda part: replace(
        part, proof=replace(part.proof, e=decode_scalar(bytes(32)))
    ).encode(),
    "no part": lambda part: part.encode()[:-1],
    "nothing": lambda part: bytes(112),
}


@pytest.mark.parametrize("wrong", WRONG_PARTS)
def test_wrong_part_of_the_helper_is_no_result(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(response: Any) -> None:
        part = DecryptionPart.decode(base64_text.decode(json.loads(response.content)["part"]))
        response.content = json.dumps({"part": base64_text.encode(WRONG_PARTS[wrong](part))}).encode()

    recipe = listed()
    settle(answering("/decryption", other, monkeypatch))
    assert_withheld(recipe, Release.Cause.REFUSED, "the helper's part of the decryption is wrong")


def test_part_for_another_list_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that holds, of the right sum and key: bound to another list."""

    def other(response: Any) -> None:
        context = AcceptedList(row.identifier, row.reports, "0" * 64).decryption_context("helper")
        part = DecryptionPart.made(context, decode_total(bytes(row.total)), secret, SOURCE)
        response.content = json.dumps({"part": base64_text.encode(part.encode())}).encode()

    recipe = listed()
    row = there(recipe)
    secret = decode_scalar(secret_unseal(stored(row.sealed), kind=KIND, owner=row.identifier.encode()))
    settle(answering("/decryption", other, monkeypatch))
    assert_withheld(recipe, Release.Cause.REFUSED, "the helper's part of the decryption is wrong")


def test_helper_keeps_no_key_after_its_part() -> None:
    recipe = listed()
    helper = partner().client()
    asked = {"identifier": str(recipe.identifier), "proof": proof_of(recipe).encode()}
    given = joint_key_calls.sum_decrypt(helper, **asked)
    assert joint_key_calls.sum_decrypt(helper, **asked) == given
    assert there(recipe).sealed is None


def test_signature_of_another_list_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(response: Any) -> None:
        response.content = json.dumps({"signature": base64_text.encode(bytes(64))}).encode()

    recipe = closed()
    settle(answering("/list", other, monkeypatch))
    assert "does not hold" in sum_of(recipe).last_error
    assert entries("list_accepted") == 0
    settle()
    assert_counted_once(recipe)


# What is lost, doubled or killed ---------------------------------------------------------------------


class DyingNetwork:
    """Ends the process at one of its requests: before it is sent, or when the helper has answered."""

    def __init__(self, request: str, *, answered: bool) -> None:
        self.request = request
        self.answered = answered

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        is_it = self.request == method or url.endswith(self.request)
        if is_it and not self.answered:
            raise KilledError
        answer = reached(method, url, headers, body)
        if is_it:
            raise KilledError
        return answer


@pytest.mark.parametrize("answered", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize("request_", REQUESTS)
def test_worker_killed_at_any_request_counts_once(request_: str, answered: bool) -> None:
    recipe = closed()
    with pytest.raises(KilledError):
        settle(DyingNetwork(request_, answered=answered))
    settle()
    assert_counted_once(recipe)


@pytest.fixture
def two_parts(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """A recipe whose list has two parts."""
    for module in ("panprivacy.recipe.accepted_list", "reports.proven_rows"):
        monkeypatch.setattr(f"{module}.PART_REPORTS", 4)
    return closed()


def test_list_of_two_parts_is_counted_once_if_every_request_comes_twice(two_parts: Recipe) -> None:
    def twice(*request: Any) -> Answer:
        assert reached(*request)[0] in {200, 404}
        return reached(*request)

    settle(twice)
    assert_counted_once(two_parts)
    assert len(bytes(sum_of(two_parts).digests)) == 64


def test_part_that_comes_twice_at_once_is_added_once(two_parts: Recipe) -> None:
    """Both requests read the helper's row before either was done."""
    for _ in range(2):
        reports_take()
    content, last = accepted_part(two_parts, after=b"")
    following, _ = accepted_part(two_parts, after=last)
    first, second, stale = (there(two_parts) for _ in range(3))
    part_check(row=first, number=0, content=content)
    part_check(row=second, number=0, content=content)
    with pytest.raises(Problem, match="Another part 0 of the list was checked"):
        part_check(row=stale, number=0, content=following)
    assert (there(two_parts).reports, len(bytes(there(two_parts).digests))) == (4, 32)
    settle()
    assert_counted_once(two_parts)


def test_two_workers_with_the_same_sum_count_once(two_parts: Recipe) -> None:
    for _ in range(2):
        reports_take()
    slow, quick = (JointSum.objects.select_related("recipe").get() for _ in range(2))
    # One is done with the list; the other still believes that it is to begin.
    for worker in (quick, slow, slow):
        sum_drive(row=worker, helper=helper_of(two_parts, reached), now=timezone.now())
    settle()
    assert_counted_once(two_parts)


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.long)])
def test_leader_and_helper_killed_at_any_statement_count_once(every: int) -> None:
    """Both are in one process here: what dies is the one whose statement it is."""
    recipe = closed()
    for _ in range(2):
        reports_take()

    def drive() -> None:
        for _ in range(3):
            sums_drive()
            integrate()

    for number in itertools.count(step=every):
        begun = transaction.savepoint()
        try:
            with killed_at_statement(number):
                drive()
        except KilledError:
            sums_drive()
            drive()
            row = sum_of(recipe)
            assert (row.state, row.count, row.reports) == (JointSum.State.COUNTED, sum(BITS), len(BITS))
            for action in ("list_accepted", "joint_list_signed", "joint_part_given"):
                assert entries(action) == 1, (number, action)
            transaction.savepoint_rollback(begun)
        else:
            break
    assert number > 30
    settle()
    assert_counted_once(recipe)


@pytest.mark.parametrize(("seconds", "most"), [(REQUESTS_SECONDS, 1), (REQUESTS_SECONDS * 0.4, 3)])
def test_task_begins_no_request_after_its_time(two_parts: Recipe, seconds: float, most: int) -> None:
    """Each request takes this number of seconds on a clock of its own; the next task continues."""
    steady, tasks = 0.0, []

    def slow(*request: Any) -> Answer:
        nonlocal steady
        steady += seconds
        tasks[-1] += 1
        return reached(*request)

    for _ in range(2):
        reports_take()
    while not tasks or tasks[-1]:
        tasks.append(0)
        row = JointSum.objects.select_related("recipe").get()
        sum_drive(row=row, helper=helper_of(two_parts, slow), now=timezone.now(), clock=lambda: steady)
        assert row.failing_since is None
        integrate()
    # Two parts, the list and the decryption.
    assert (max(tasks), sum(tasks)) == (most, 4)
    settle()
    assert_counted_once(two_parts)


def test_message_of_an_older_lease_asks_nothing() -> None:
    """Its worker came too late: another has the row."""
    recipe = closed()
    for _ in range(2):
        reports_take()
    now = timezone.now()
    older = sums_take(now=now)
    sums_take(now=older.until)
    # With the network of a real site: a request would fail, and be noted.
    drive_sum(older.rows[0], older.until.isoformat())
    assert sum_of(recipe).attempts == 0
    settle()
    assert_counted_once(recipe)
