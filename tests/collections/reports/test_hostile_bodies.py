"""Bodies that are no reports, or reports cut short, are refused and store nothing."""

import io
import json
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from django.test import Client
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from recipes.models import Recipe
from reports.models import StoredReports
from tests.factories import base64_of, published_recipe, report_of_count

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
@pytest.mark.parametrize("media_type", ["application/json", "application/msgpack", "text/plain", ""])
@pytest.mark.parametrize("last", ["", "batch/"])
def test_reports_sent_as_arbitrary_bytes_are_answered_with_a_problem_document(
    body: bytes, media_type: str, last: str, open_recipe: Recipe
) -> None:
    address = f"/api/v1/recipes/{open_recipe.identifier}/reports/{last}"
    answer = Client().post(address, body, content_type=media_type)
    assert 400 <= answer.status_code < 500
    assert answer["Content-Type"] == "application/problem+json"


@bounded
@given(cut=st.integers(min_value=0))
def test_a_batch_cut_short_anywhere_stores_nothing(cut: int, open_recipe: Recipe) -> None:
    body = msgpack.packb({"reports": [report_of_count(open_recipe, 1)]})
    address = f"/api/v1/recipes/{open_recipe.identifier}/reports/batch/"
    answer = Client().post(address, body[: 1 + cut % (len(body) - 1)], content_type="application/msgpack")
    assert answer.status_code == 400
    assert not StoredReports.objects.exists()


def test_a_body_shorter_than_it_was_announced_is_refused_though_it_is_complete(open_recipe: Recipe) -> None:
    """Whoever cut it off may have cut off more. Not every server tells."""
    body = msgpack.packb({"reports": [report_of_count(open_recipe, 1)]})
    came = {"CONTENT_LENGTH": str(len(body) + 10), "wsgi.input": io.BytesIO(body)}
    address = f"/api/v1/recipes/{open_recipe.identifier}/reports/batch/"
    answer = Client().post(address, body, content_type="application/msgpack", **came)
    assert (answer.status_code, answer.json()["title"]) == (408, "The body ended early")
    assert not StoredReports.objects.exists()


@pytest.mark.parametrize("last", ["", "batch/"])
def test_a_report_with_a_member_twice_is_refused_and_stores_nothing(last: str, open_recipe: Recipe) -> None:
    nonce = base64_of(bytes(16))
    honest = json.dumps(
        {
            "nonce": nonce,
            "ciphertexts": [base64_of(part) for part in report_of_count(open_recipe, 1)["ciphertexts"]],
        }
    )
    twice = f'{{"nonce": "{nonce}", {honest[1:]}'
    body = f'{{"reports": [{honest}, {twice}]}}' if last else twice
    address = f"/api/v1/recipes/{open_recipe.identifier}/reports/{last}"
    answer = Client().post(address, body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["field"] == "nonce"
    assert answer.json()["detail"] == "nonce: stands there more than once."
    assert not StoredReports.objects.exists()


def test_a_batch_with_its_reports_twice_is_refused(open_recipe: Recipe) -> None:
    address = f"/api/v1/recipes/{open_recipe.identifier}/reports/batch/"
    answer = Client().post(address, '{"reports": [], "reports": [1]}', content_type="application/json")
    assert (answer.status_code, answer.json()["field"]) == (400, "reports")
