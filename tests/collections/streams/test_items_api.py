"""Batches over HTTP: what is counted, what is refused, and that no answer quotes an item."""

import json
from typing import Any

import pytest
from django.test import Client

from panprivacy.statistics.streams.item_bytes import ITEM_LENGTH
from publishing.publication import recipe_close
from recipes.models import Recipe
from reports.items import BATCH_ITEMS, BRACKETS
from streams import operations
from streams.models import ItemBatch
from streams.sealed_state import key_slots
from tests.collections.streams.scene import batch_body, counted, state_of, stream_of
from tests.factories import published_recipe, published_stream
from tests.memory import peak_of
from tests.metrics import assert_counted_and_not_measured

pytestmark = pytest.mark.django_db

JSON = "application/json"


def post(recipe: Recipe, body: Any, media_type: str = JSON, **headers: str) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    client = Client(raise_request_exception=False)
    address = f"/api/v1/recipes/{recipe.identifier}/items/"
    return client.post(address, content, content_type=media_type, headers=headers)


def test_a_batch_is_counted_at_once_and_again_with_the_same_answer() -> None:
    recipe = published_stream()
    start = state_of(recipe)
    batch = batch_body(["3", "3", "7"])
    for _ in range(2):
        answer = post(recipe, batch)
        assert (answer.status_code, answer.json()) == (200, {"status": "counted"})
    assert counted(recipe, start) == [0, 0, 0, 2, 0, 0, 0, 1, 0, 0]


def test_the_largest_batch_and_the_longest_item_are_taken() -> None:
    recipe = published_stream(statistic="density", t=None, items="hashed")
    items = ["ß" * ITEM_LENGTH] + ["[{[{"] * (BATCH_ITEMS - 1)
    assert post(recipe, batch_body(items)).status_code == 200


NONCE = "00" * 16
MARK = "MARKED-ITEM"
REFUSED: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "no JSON": (b"{" + MARK.encode(), 400, {}),
    "no object": ([MARK], 400, {}),
    "no batch": ({"items": [MARK]}, 400, {}),
    "another member": ({"batch": NONCE, "items": [MARK], MARK: 1}, 400, {}),
    "items twice": (
        f'{{"batch": "{NONCE}", "items": ["{MARK}"], "items": ["1"]}}'.encode(),
        422,
        {"field": "items"},
    ),
    "batch twice": (
        f'{{"batch": "{NONCE}", "items": ["1"], "batch": "{"11" * 16}"}}'.encode(),
        422,
        {"field": "batch"},
    ),
    "a short nonce": ({"batch": NONCE[:30], "items": [MARK]}, 422, {"field": "batch"}),
    "a nonce with spaces": ({"batch": "00 " * 10 + "00", "items": [MARK]}, 422, {"field": "batch"}),
    "a nonce that is no text": ({"batch": 0, "items": [MARK]}, 422, {"field": "batch"}),
    "a text for items": ({"batch": NONCE, "items": MARK}, 422, {"field": "items"}),
    "too many": ({"batch": NONCE, "items": [MARK] * (BATCH_ITEMS + 1)}, 422, {"field": "items"}),
    "a number": ({"batch": NONCE, "items": [MARK, 5]}, 422, {"field": "items", "index": 1}),
    "nothing": ({"batch": NONCE, "items": ["1", ""]}, 422, {"field": "items", "index": 1}),
    "too long": ({"batch": NONCE, "items": [MARK * ITEM_LENGTH]}, 422, {"field": "items", "index": 0}),
    "not in the universe": ({"batch": NONCE, "items": ["1", MARK]}, 422, {"field": "items", "index": 1}),
    "half a character": ({"batch": NONCE, "items": ["1", "\ud800"]}, 422, {"field": "items", "index": 1}),
    "many brackets": (b"[" * (BRACKETS + 1), 400, {}),
    "deep brackets": (b"[" * BRACKETS, 400, {}),
    "a larger body": (b" " * (4 * 1024 * 1024 + 1), 413, {}),
}


def test_what_is_no_batch_is_refused_by_place_unquoted(caplog: pytest.LogCaptureFixture) -> None:
    recipe = published_stream()
    for kind, (body, status, members) in REFUSED.items():
        answer = post(recipe, body)
        assert answer.status_code == status, kind
        problem = answer.json()
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert {name: problem.get(name) for name in members} == members
        if "index" in members:
            place = f"at index {members['index']} (the {['1st', '2nd'][members['index']]})"
            assert place in problem["detail"], kind
        assert MARK not in answer.content.decode(), kind
    assert MARK not in caplog.text
    assert not ItemBatch.objects.exists()


def test_a_batch_of_lists_of_lists_is_refused_before_they_are_built() -> None:
    recipe = published_stream()
    lists = b"[" + b"[]," * 9_999 + b"[]]"
    body = f'{{"batch": "{NONCE}", "items": ['.encode() + b",".join([lists] * 100) + b"]}"
    answer, peak = peak_of(lambda: post(recipe, body))
    assert answer.status_code == 400
    # Built, they take 64,000,000 bytes.
    assert peak < 15_000_000


def test_another_media_type_is_refused_unread() -> None:
    for media_type in ("application/x-www-form-urlencoded", "application/msgpack"):
        answer = post(published_stream(), f"items={MARK}".encode(), media_type)
        assert answer.status_code == 415
        assert MARK not in answer.content.decode()


def test_a_recipe_of_devices_takes_no_items_and_one_of_a_stream_no_reports() -> None:
    answer = post(published_recipe(), batch_body([]))
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/recipe-takes-no-items")
    recipe = published_stream()
    answer = Client().post(f"/api/v1/recipes/{recipe.identifier}/reports/", "{}", content_type=JSON)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/recipe-of-a-curator")
    assert f"/api/v1/recipes/{recipe.identifier}/items/" in answer.json()["detail"]


def test_a_closed_recipe_and_one_that_is_not_there_take_nothing() -> None:
    recipe = published_stream()
    recipe_close(recipe=recipe, actor=None)
    answer = post(recipe, batch_body(["1"]))
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/recipe-not-open")
    answer = Client().get(f"/api/v1/recipes/{recipe.identifier}/items/")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST, OPTIONS")
    recipe.identifier = "0" * 64
    assert post(recipe, batch_body(["1"])).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_batch_sent_again_gets_the_same_answer_until_it_is_forgotten() -> None:
    recipe = published_stream()
    batch = batch_body(["3"])
    assert post(recipe, batch).status_code == 200
    recipe_close(recipe=recipe, actor=None)
    assert post(recipe, batch).status_code == 200
    operations.stream_forget(identifier=recipe.identifier)
    answer = post(recipe, batch)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/recipe-not-open")


def test_an_unexpected_error_brings_no_item_into_the_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    recipe = published_stream(statistic="density", t=None, items="hashed")

    def fail(stream_id: object) -> None:
        raise KeyError(MARK)

    monkeypatch.setattr(operations, "sample_of", fail)
    answer = post(recipe, batch_body([MARK]))
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/internal-error")
    told = answer.content.decode() + caplog.text + "".join(capsys.readouterr())
    assert "items_not_folded" in told
    assert "KeyError" in told
    assert MARK not in told


def test_a_lost_state_is_our_fault_and_counts_nothing(caplog: pytest.LogCaptureFixture) -> None:
    recipe = published_stream()
    key_slots(stream_of(recipe).id).delete()
    answer = post(recipe, batch_body(["1"]))
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/internal-error")
    (said,) = [record for record in caplog.records if "stream_lost" in record.getMessage()]
    assert not ItemBatch.objects.exists()
    assert "Traceback" not in said.getMessage()
    assert said.exc_info is None


def test_metrics_count_batches_and_do_not_measure_them() -> None:
    recipe = published_stream()

    def send() -> None:
        for items in ([], ["1"] * 500):
            assert post(recipe, batch_body(items)).status_code == 200

    assert_counted_and_not_measured("api-items", send)
