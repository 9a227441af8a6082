import json
from importlib import import_module
from typing import Any

import msgpack
import pytest
from django.apps import apps
from django.http import HttpResponse
from django.test import Client

from recipes.models import Recipe
from reports import operations
from reports.models import RejectionCount, ReportNonce, StoredReports
from reports.parsing import BATCH_REPORTS, read_report
from tests.factories import as_json, published_recipe, report_of_count, report_of_values
from tests.memory import peak_of
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db
MESSAGEPACK = "application/msgpack"


def post_one(client: Client, recipe: Recipe, report: object) -> HttpResponse:
    return client.post(
        f"/api/v1/recipes/{recipe.identifier}/reports/", report, content_type="application/json"
    )


def post_batch(client: Client, recipe: Recipe, reports: list[Any]) -> HttpResponse:
    body = msgpack.packb({"reports": reports})
    return client.post(f"/api/v1/recipes/{recipe.identifier}/reports/batch/", body, content_type=MESSAGEPACK)


def stored(recipe: Recipe) -> int:
    return sum(StoredReports.objects.filter(recipe=recipe).values_list("count", flat=True))


def rejections(recipe: Recipe) -> dict[str, int]:
    return dict(RejectionCount.objects.filter(recipe=recipe).values_list("reason", "count"))


def test_submit_one_report_stores_its_ciphertexts_and_nothing_else(client: Client) -> None:
    recipe = published_recipe()
    report = report_of_count(recipe, 1)
    answer = post_one(client, recipe, as_json(report))
    assert (answer.status_code, answer.json()) == (201, {"status": "accepted"})
    row = StoredReports.objects.get()
    assert bytes(row.payload) == b"".join(report["ciphertexts"])
    assert {field.name for field in StoredReports._meta.get_fields()} == {
        "id",
        "recipe",
        "chunk",
        "count",
        "payload",
    }
    assert {field.name for field in ReportNonce._meta.get_fields()} == {"pk", "recipe", "nonce"}


def test_submit_a_batch_in_json_and_in_messagepack_accepts_every_report(client: Client) -> None:
    recipe = published_recipe(statistic="histogram", k=2)
    reports = [report_of_count(recipe, count) for count in range(4)]
    assert post_batch(client, recipe, reports[:2]).json() == {"accepted": 2, "rejected": []}
    answer = client.post(
        f"/api/v1/recipes/{recipe.identifier}/reports/batch/",
        {"reports": [as_json(report) for report in reports[2:]]},
        content_type="application/json",
    )
    assert answer.json() == {"accepted": 2, "rejected": []}
    assert stored(recipe) == 4


def bad_reports(recipe: Recipe) -> dict[str, Any]:
    good = report_of_count(recipe, 1)
    size = recipe.published.public_key.ciphertext_bytes
    return {
        "malformed_report": {"nonce": good["nonce"]},
        "wrong_nonce_size": {**good, "nonce": good["nonce"][:15]},
        "wrong_ciphertext_count": {**good, "ciphertexts": good["ciphertexts"] * 2},
        "invalid_ciphertext": {**good, "ciphertexts": [b"\x07" * size]},
    }


@pytest.mark.parametrize(
    "reason", ["malformed_report", "wrong_nonce_size", "wrong_ciphertext_count", "invalid_ciphertext"]
)
def test_submit_of_a_bad_report_is_refused_with_its_reason_and_counted(client: Client, reason: str) -> None:
    recipe = published_recipe()
    bad = bad_reports(recipe)[reason]
    body = {"nonce": "AAAA"} if reason == "malformed_report" else as_json(bad)
    answer = post_one(client, recipe, body)
    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["reason"] == reason
    assert (stored(recipe), rejections(recipe)) == (0, {reason: 1})


def test_a_rejected_report_never_takes_its_batch_down(client: Client) -> None:
    recipe = published_recipe()
    good = [report_of_count(recipe, 0), report_of_count(recipe, 2)]
    bad = list(bad_reports(recipe).values())
    answer = post_batch(client, recipe, [good[0], *bad, 7, None, good[1], good[0]])
    document = answer.json()
    assert document["accepted"] == 2
    assert [(entry["index"], entry["reason"]) for entry in document["rejected"]] == [
        (1, "malformed_report"),
        (2, "wrong_nonce_size"),
        (3, "wrong_ciphertext_count"),
        (4, "invalid_ciphertext"),
        (5, "malformed_report"),
        (6, "malformed_report"),
        (8, "duplicate_nonce"),
    ]
    assert stored(recipe) == 2
    assert rejections(recipe)["malformed_report"] == 3


def test_submit_of_a_nonce_that_is_too_long_is_refused_as_one_that_is_too_short(client: Client) -> None:
    recipe = published_recipe()
    answer = post_one(client, recipe, as_json(report_of_values(recipe, [0], b"n" * 17)))
    assert (answer.status_code, answer.json()["reason"]) == (422, "wrong_nonce_size")
    assert stored(recipe) == 0


def test_rejections_of_several_batches_are_added_up_up_to_the_largest_batch(client: Client) -> None:
    recipe = published_recipe()
    for size in (2, BATCH_REPORTS, 1):
        document = post_batch(client, recipe, [None] * size).json()
        assert (document["accepted"], len(document["rejected"])) == (0, size)
    assert rejections(recipe) == {"malformed_report": 3 + BATCH_REPORTS}


def test_the_same_report_twice_counts_once_and_says_so(client: Client) -> None:
    recipe = published_recipe()
    report = as_json(report_of_count(recipe, 1))
    assert post_one(client, recipe, report).status_code == 201
    answer = post_one(client, recipe, report)
    assert (answer.status_code, answer.json()["reason"]) == (409, "duplicate_nonce")
    assert stored(recipe) == 1


def test_a_nonce_is_unique_within_its_recipe_only(client: Client) -> None:
    first, second = published_recipe(), published_recipe()
    nonce = b"n" * 16
    for recipe in (first, second):
        report = report_of_values(recipe, [0], nonce)
        assert post_batch(client, recipe, [report]).json()["accepted"] == 1


def test_a_closed_recipe_accepts_nothing_and_counts_nothing(client: Client) -> None:
    recipe = published_recipe()
    recipe_close(recipe=recipe, actor=None)
    answer = post_one(client, recipe, as_json(report_of_count(recipe, 1)))
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/recipe-not-open")
    assert (stored(recipe), rejections(recipe)) == (0, {})


def test_a_recipe_accepts_nothing_before_it_opens_unless_it_is_a_simulation(client: Client) -> None:
    times = {"opens_at": "2090-01-01T00:00:00Z", "closes_at": "2091-01-01T00:00:00Z"}
    real, simulated = published_recipe(**times), published_recipe(simulation=True, **times)
    refused = post_one(client, real, as_json(report_of_count(real, 1)))
    assert (refused.status_code, refused.json()["detail"]) == (409, "It opens 2090-01-01T00:00:00Z.")
    assert post_one(client, simulated, as_json(report_of_count(simulated, 1))).status_code == 201


@pytest.mark.parametrize(
    ("body", "content_type", "status", "kind"),
    [
        (b"{", "application/json", 400, "malformed-body"),
        (b"[" * 100_000, "application/json", 400, "malformed-body"),
        (b"\xff\xfe", "application/json", 400, "malformed-body"),
        (b"[]", "application/json", 400, "malformed-body"),
        (b'{"reports": []}', "application/json", 400, "malformed-body"),
        (b'{"reports": {}}', "application/json", 400, "malformed-body"),
        (json.dumps({"reports": [1] * 1001}).encode(), "application/json", 400, "malformed-body"),
        (b"\xc1", MESSAGEPACK, 400, "malformed-body"),
        (b"\x91" * 100_000, MESSAGEPACK, 400, "malformed-body"),
        (b"\xdd\xff\xff\xff\xff", MESSAGEPACK, 400, "malformed-body"),
        (b"\x81", MESSAGEPACK, 400, "malformed-body"),
        (b"a=1", "application/x-www-form-urlencoded", 415, "unsupported-media-type"),
        (b"x", "", 415, "unsupported-media-type"),
        (b"\x81\xa7reports\xdc\x03\xe8" + b"\x80" * 1000 + b"\x80" * 10, MESSAGEPACK, 400, "malformed-body"),
        (b"\x81\xa7reports\xdd\x00\x06\x00\x00" + b"\x80" * 393_216, MESSAGEPACK, 400, "malformed-body"),
        (b'{"reports": [' + b"[]," * 3_000 + b"[]]}", "application/json", 400, "malformed-body"),
        (b"x" * (16 * 1024 * 1024 + 1), MESSAGEPACK, 413, "body-too-large"),
    ],
)
def test_a_malformed_batch_is_a_problem_document_and_stores_nothing(
    client: Client, body: bytes, content_type: str, status: int, kind: str
) -> None:
    recipe = published_recipe()
    path = f"/api/v1/recipes/{recipe.identifier}/reports/batch/"
    answer = client.generic("POST", path, body, content_type=content_type)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    document = answer.json()
    assert (document["type"], document["status"]) == (f"/problems/{kind}", status)
    assert {"title", "detail"} <= set(document)
    assert stored(recipe) == 0


def test_a_batch_of_lists_of_lists_is_refused_before_they_are_built(client: Client) -> None:
    path = f"/api/v1/recipes/{published_recipe().identifier}/reports/batch/"
    body = b"\x81\xa7reports\xdc\x01\x7c" + (b"\xdc\x03\xe8" + b"\x90" * 1_000) * 380
    answer, peak = peak_of(lambda: client.generic("POST", path, body, content_type=MESSAGEPACK))
    assert answer.status_code == 400
    # Built, they take 24,000,000 bytes.
    assert peak < 10_000_000


@pytest.mark.django_db
def test_json_of_many_members_is_refused_before_it_is_built(client: Client) -> None:
    recipe = published_recipe(statistic="histogram", k=1_000)
    body = "{" + ",".join(f'"{number:x}":1.5' for number in range(900_000)) + "}"
    path = f"/api/v1/recipes/{recipe.identifier}/reports/batch/"
    answer, peak = peak_of(lambda: client.generic("POST", path, body, content_type="application/json"))
    assert answer.status_code == 400
    assert peak < 5 * len(body)  # built, it takes more than ten times as much


def test_reports_for_an_unknown_recipe_and_other_methods_are_problem_documents(client: Client) -> None:
    path = f"/api/v1/recipes/{'0' * 64}/reports/"
    assert client.post(path, {}, content_type="application/json").json()["type"] == "/problems/not-found"
    answer = client.get(path)
    assert (answer.status_code, answer.json()["type"]) == (405, "/problems/method-not-allowed")
    assert "POST" in answer["Allow"]


def test_a_browser_session_gives_no_rights_and_needs_no_csrf_token() -> None:
    recipe = published_recipe()
    strict = Client(enforce_csrf_checks=True)
    assert post_one(strict, recipe, as_json(report_of_count(recipe, 1))).status_code == 201


def test_submitting_a_batch_takes_a_bounded_number_of_queries(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    recipe = published_recipe()
    few, many = ([report_of_count(recipe, 0) for _ in range(size)] for size in (2, 200))
    for reports in (few, many):
        with django_assert_max_num_queries(9):
            post_batch(client, recipe, reports)


def test_batches_are_read_one_at_a_time_and_a_single_report_waits_for_none(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = published_recipe()
    turns = []

    def noted(*arguments: Any) -> Any:
        turns.append(operations._TURN.locked())
        return read_report(*arguments)

    monkeypatch.setattr(operations, "read_report", noted)
    post_batch(client, recipe, [report_of_count(recipe, 0) for _ in range(2)])
    post_one(client, recipe, as_json(report_of_count(recipe, 0)))
    assert turns == [True, True, False]


def test_migration_forgets_what_decrypting_found_in_reports_of_before() -> None:
    migration = import_module("reports.migrations.0002_copies")
    recipe = published_recipe()
    for reason in ("duplicate_nonce", "value_out_of_range", "wrong_length"):
        RejectionCount.objects.create(recipe=recipe, reason=reason, count=3)
    migration.forget_validity(apps, None)
    assert list(RejectionCount.objects.values_list("reason", flat=True)) == ["duplicate_nonce"]
