"""Reports over HTTP: what is stored, and what is refused and stores nothing."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from publishing.publication import recipe_close
from recipes.models import Recipe
from reports import operations
from reports.models import RejectionCount, ReportNonce, StoredReports
from reports.parsing import BATCH_REPORTS, read_report
from tests.factories import as_json, base64_of, published_recipe, report_of_count, report_of_values
from tests.memory import peak_of

pytestmark = pytest.mark.django_db


JSON = "application/json"


def post_one(client: Client, recipe: Recipe, report: object) -> HttpResponse:
    return client.post(f"/api/v1/recipes/{recipe.identifier}/reports/", report, content_type=JSON)


def post_batch(client: Client, recipe: Recipe, reports: list[Any]) -> HttpResponse:
    """Reports whose fields are bytes, and what is no report, in one request."""
    body = {"reports": [as_json(report) if isinstance(report, dict) else report for report in reports]}
    return client.post(f"/api/v1/recipes/{recipe.identifier}/reports/batch/", body, content_type=JSON)


def stored(recipe: Recipe) -> int:
    return sum(StoredReports.objects.filter(recipe=recipe).values_list("count", flat=True))


def rejections(recipe: Recipe) -> dict[str, int]:
    return dict(RejectionCount.objects.filter(recipe=recipe).values_list("reason", "count"))


def test_submit_one_report_stores_its_ciphertexts_and_nothing_else() -> None:
    recipe = published_recipe()
    report = report_of_count(recipe, 1)
    # Without a token against forgery of requests, which a session would need.
    answer = post_one(Client(enforce_csrf_checks=True), recipe, as_json(report))
    assert (answer.status_code, answer.json()) == (201, {"status": "accepted"})
    row = StoredReports.objects.get()
    assert bytes(row.payload) == b"".join(report["ciphertexts"])
    columns = {field.name for field in StoredReports._meta.get_fields()}
    assert columns == {"id", "recipe", "chunk", "count", "payload"}
    assert {field.name for field in ReportNonce._meta.get_fields()} == {"pk", "recipe", "nonce"}


def bad_reports(recipe: Recipe) -> dict[str, Any]:
    good = report_of_count(recipe, 1)
    size = recipe.published.public_key.ciphertext_bytes
    return {
        "malformed_report": {"nonce": good["nonce"]},
        "wrong_nonce_size": {**good, "nonce": good["nonce"][:15]},
        "wrong_ciphertext_count": {**good, "ciphertexts": good["ciphertexts"] * 2},
        "invalid_ciphertext": {**good, "ciphertexts": [b"\x07" * size]},
    }


def test_submit_of_a_bad_report_is_refused_with_its_reason_and_counted(client: Client) -> None:
    recipe = published_recipe()
    bad = bad_reports(recipe)
    long_nonce = ("wrong_nonce_size", report_of_values(recipe, [0], b"n" * 17))
    for reason, report in (*bad.items(), long_nonce):
        answer = post_one(client, recipe, as_json(report))
        assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
        assert answer.json()["reason"] == reason
    assert (stored(recipe), rejections(recipe)) == (0, {**dict.fromkeys(bad, 1), "wrong_nonce_size": 2})


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


def test_rejections_of_several_batches_are_added_up(client: Client) -> None:
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


def test_a_closed_recipe_accepts_nothing_and_counts_nothing(client: Client) -> None:
    recipe = published_recipe()
    recipe_close(recipe=recipe, actor=None)
    answer = post_one(client, recipe, as_json(report_of_count(recipe, 1)))
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/recipe-not-open")
    assert (stored(recipe), rejections(recipe)) == (0, {})


def test_only_a_simulation_accepts_reports_before_it_opens(client: Client) -> None:
    times = {"opens_at": "2090-01-01T00:00:00Z", "closes_at": "2091-01-01T00:00:00Z"}
    real, simulated = published_recipe(**times), published_recipe(simulation=True, **times)
    refused = post_one(client, real, as_json(report_of_count(real, 1)))
    assert (refused.status_code, refused.json()["detail"]) == (409, "It opens 2090-01-01T00:00:00Z.")
    assert post_one(client, simulated, as_json(report_of_count(simulated, 1))).status_code == 201


def test_a_malformed_batch_is_a_problem_document_and_stores_nothing(client: Client) -> None:
    recipe = published_recipe()
    path = f"/api/v1/recipes/{recipe.identifier}/reports/batch/"
    for body, content_type, status, kind in (
        (b"{", JSON, 400, "malformed-body"),
        (b"[]", JSON, 400, "malformed-body"),
        (b'{"reports": []}', JSON, 400, "malformed-body"),
        (b'{"reports": {}}', JSON, 400, "malformed-body"),
        (json.dumps({"reports": [1] * 1001}).encode(), JSON, 400, "malformed-body"),
        (b'{"reports": [' + b"[]," * 3_000 + b"[]]}", JSON, 400, "malformed-body"),
        (b"\x81\xa7reports\x90", "application/msgpack", 415, "unsupported-media-type"),
        (b"a=1", "application/x-www-form-urlencoded", 415, "unsupported-media-type"),
        (b"x", "", 415, "unsupported-media-type"),
        (b"x" * (16 * 1024 * 1024 + 1), JSON, 413, "body-too-large"),
    ):
        answer = client.generic("POST", path, body, content_type=content_type)
        assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
        document = answer.json()
        assert (document["type"], document["status"]) == (f"/problems/{kind}", status)
        assert {"title", "detail"} <= set(document)
    assert stored(recipe) == 0


def test_a_batch_of_lists_of_lists_is_refused_before_they_are_built(client: Client) -> None:
    path = f"/api/v1/recipes/{published_recipe().identifier}/reports/batch/"
    lists = b"[" + b"[]," * 999 + b"[]]"
    body = b'{"reports": [' + b",".join([lists] * 100) + b"]}"
    client.generic("POST", path, b"[]", content_type=JSON)  # what is loaded once is loaded now
    answer, peak = peak_of(lambda: client.generic("POST", path, body, content_type=JSON))
    assert answer.status_code == 400
    # Built, they take 6,000,000 bytes.
    assert peak < 3_000_000


def test_json_of_many_members_is_refused_before_it_is_built(client: Client) -> None:
    recipe = published_recipe(statistic="histogram", k=1_000)
    body = "{" + ",".join(f'"{number:x}":1.5' for number in range(200_000)) + "}"
    path = f"/api/v1/recipes/{recipe.identifier}/reports/batch/"
    answer, peak = peak_of(lambda: client.generic("POST", path, body, content_type=JSON))
    assert answer.status_code == 400
    assert peak < 5 * len(body)  # built, it takes more than ten times as much


def test_reports_for_an_unknown_recipe_and_other_methods_are_refused(client: Client) -> None:
    path = f"/api/v1/recipes/{'0' * 64}/reports/"
    assert client.post(path, {}, content_type=JSON).json()["type"] == "/problems/not-found"
    answer = client.get(path)
    assert (answer.status_code, answer.json()["type"]) == (405, "/problems/method-not-allowed")
    assert "POST" in answer["Allow"]


def test_submitted_batch_takes_bounded_queries(client: Client, django_assert_max_num_queries: Any) -> None:
    recipe = published_recipe()
    few, many = ([report_of_count(recipe, 0) for _ in range(size)] for size in (2, 200))
    for reports in (few, many):
        with django_assert_max_num_queries(9):
            post_batch(client, recipe, reports)


def test_batches_wait_in_turn_single_reports_never(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_recipe()
    turns = []

    def noted(*arguments: Any) -> Any:
        turns.append(operations._TURN.locked())
        return read_report(*arguments)

    monkeypatch.setattr(operations, "read_report", noted)
    post_batch(client, recipe, [report_of_count(recipe, 0) for _ in range(2)])
    post_one(client, recipe, as_json(report_of_count(recipe, 0)))
    assert turns == [True, True, False]


bounded: Callable[[Any], Any] = hypothesis_settings(
    max_examples=20,
    phases=[Phase.explicit, Phase.generate],
    # A function-scoped database is meant: every request of a test meets the same recipe.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def open_recipe(db: None) -> Recipe:
    return published_recipe()


@bounded
@given(body=st.binary(max_size=200))
@pytest.mark.parametrize("media_type", ["application/json", "text/plain", ""])
@pytest.mark.parametrize("last", ["", "batch/"])
def test_any_bytes_have_an_answer(body: bytes, media_type: str, last: str, open_recipe: Recipe) -> None:
    address = f"/api/v1/recipes/{open_recipe.identifier}/reports/{last}"
    answer = Client().post(address, body, content_type=media_type)
    assert 400 <= answer.status_code < 500
    assert answer["Content-Type"] == "application/problem+json"


@bounded
@given(cut=st.integers(min_value=0))
def test_a_batch_cut_short_anywhere_stores_nothing(cut: int, open_recipe: Recipe) -> None:
    body = json.dumps({"reports": [as_json(report_of_count(open_recipe, 1))]})
    address = f"/api/v1/recipes/{open_recipe.identifier}/reports/batch/"
    answer = Client().post(address, body[: 1 + cut % (len(body) - 1)], content_type=JSON)
    assert answer.status_code == 400
    assert not StoredReports.objects.exists()


def test_a_body_shorter_than_announced_is_refused(open_recipe: Recipe) -> None:
    """More may be missing. Not every server notices."""
    body = json.dumps({"reports": [as_json(report_of_count(open_recipe, 1))]})
    came = {"CONTENT_LENGTH": str(len(body) + 10), "wsgi.input": io.BytesIO(body.encode())}
    address = f"/api/v1/recipes/{open_recipe.identifier}/reports/batch/"
    answer = Client().post(address, body, content_type=JSON, **came)
    assert (answer.status_code, answer.json()["title"]) == (408, "The body ended early")
    assert not StoredReports.objects.exists()


@pytest.mark.parametrize("last", ["", "batch/"])
def test_a_report_with_a_member_twice_is_refused_and_stores_nothing(last: str, open_recipe: Recipe) -> None:
    nonce = base64_of(bytes(16))
    honest = json.dumps(as_json({**report_of_count(open_recipe, 1), "nonce": bytes(16)}))
    twice = f'{{"nonce": "{nonce}", {honest[1:]}'
    body = f'{{"reports": [{honest}, {twice}]}}' if last else twice
    address = f"/api/v1/recipes/{open_recipe.identifier}/reports/{last}"
    answer = Client().post(address, body, content_type=JSON)
    assert answer.status_code == 400
    assert answer.json()["field"] == "nonce"
    assert answer.json()["detail"] == "nonce: occurs more than once."
    if last:
        lists_twice = '{"reports": [], "reports": [1]}'
        answer = Client().post(address, lists_twice, content_type=JSON)
        assert (answer.status_code, answer.json()["field"]) == (400, "reports")
    assert not StoredReports.objects.exists()
