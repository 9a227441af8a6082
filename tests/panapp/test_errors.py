from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadhandler import (
    FileUploadHandler,
    MemoryFileUploadHandler,
    TemporaryFileUploadHandler,
)
from django.http import HttpRequest, HttpResponse
from django.test import Client

from recipes.api import RecipeListView

API = "/api/v1/recipes/"


def assert_problem(answer: HttpResponse, status: int, kind: str) -> None:
    assert answer["Content-Type"] == "application/problem+json"
    document = answer.json()
    assert set(document) >= {"type", "title", "status", "detail"}
    assert (answer.status_code, document["status"], document["type"]) == (status, status, f"/problems/{kind}")


@pytest.mark.parametrize(
    "address",
    [
        *("/api", "/api/", "/api/v2/recipes/", "/api/v1/recipes/xyz/", "/api/v1/\x00/"),
        *("/leader", "/leader/", "/leader/tasks/xyz", "/leader/\x00", "/.well-known/nothing", "/witness/x"),
    ],
)
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_unknown_address_of_programs_is_a_problem_document(client: Client, address: str, method: str) -> None:
    assert_problem(getattr(client, method)(address), 404, "not-found")


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("method", ["get", "post"])
def test_api_path_without_its_last_slash_is_not_redirected(
    client: Client, settings: Any, method: str, debug: bool
) -> None:
    settings.DEBUG = debug
    answer = getattr(client, method)(API.rstrip("/"))
    assert answer.status_code == 404
    if not debug:
        assert_problem(answer, 404, "not-found")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/x-www-form-urlencoded; charset=utf-16", b"x=1"),
        ("multipart/form-data", b"x=1"),
        ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % number for number in range(1_100))),
    ],
)
@pytest.mark.parametrize("address", ["/plan/", "/plan/?q=%01", "/nope/", "/sign-in/", "/audit/"])
def test_form_that_cannot_be_read_is_a_bad_request_wherever_it_goes(
    address: str, content_type: str, body: bytes
) -> None:
    # The pages of errors look for a token in the form, too.
    token = "abcdefghijklmnopqrstuvwxyzABCDEF"
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.cookies["csrftoken"] = token
    answer = client.post(address, body, content_type=content_type, headers={"X-CSRFToken": token})
    assert answer.status_code in {400, 403, 404, 405}
    assert answer["X-Content-Type-Options"] == "nosniff"
    if address == "/nope/":
        assert (answer.status_code, answer["Content-Type"]) == (400, "text/html; charset=utf-8")


@pytest.mark.django_db
@pytest.mark.parametrize("size", [0, 10, 3_000_000])
@pytest.mark.parametrize("address", ["/sign-in/", "/nope/", "/plan/"])
def test_form_with_a_file_is_refused_before_the_file_is_read(
    address: str, size: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def keep(self: FileUploadHandler, *_: object) -> None:
        raise AssertionError("the file is kept")

    monkeypatch.setattr(MemoryFileUploadHandler, "new_file", keep)
    monkeypatch.setattr(TemporaryFileUploadHandler, "new_file", keep)
    client = Client(enforce_csrf_checks=True)
    client.cookies["csrftoken"] = "abcdefghijklmnopqrstuvwxyzABCDEF"
    answer = client.post(address, {"username": "ada", "file": ContentFile(b"x" * size, name="x")})
    assert (answer.status_code, answer["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert "This request cannot be read" in answer.content.decode()
    assert caplog.records == []


def test_api_takes_no_form_with_a_file(client: Client) -> None:
    answer = client.post("/api/v1/plan", {"file": ContentFile(b"x", name="x")})
    assert_problem(answer, 415, "unsupported-media-type")


def test_wrong_host_is_a_problem_document_that_does_not_echo_it(client: Client) -> None:
    answer = client.get(API, headers={"Host": "evil.example"})
    assert_problem(answer, 400, "bad-request")
    assert b"evil.example" not in answer.content


def test_wrong_method_on_a_recipe_list_is_a_problem_document_with_allow(client: Client) -> None:
    answer = client.put(API, {}, content_type="application/json")
    assert_problem(answer, 405, "method-not-allowed")
    assert "GET" in answer["Allow"]


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_wrong_method_on_keys_of_the_leader_is_a_problem_document(client: Client, method: str) -> None:
    answer = getattr(client, method)("/leader/hpke_config")
    assert_problem(answer, 405, "method-not-allowed")
    assert answer["Allow"] == "GET, HEAD"


def test_wrong_host_of_the_leader_is_a_problem_document(client: Client) -> None:
    answer = client.get("/leader/hpke_config", headers={"Host": "evil.example"})
    assert_problem(answer, 400, "bad-request")


@pytest.mark.django_db
def test_unexpected_exception_of_the_leader_is_a_problem_document(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dap.views.hpke_config_list", _failing)
    client.raise_request_exception = False
    assert_problem(client.get("/leader/hpke_config"), 500, "internal-error")


def _failing(**_: object) -> None:
    raise RuntimeError("s3cret detail")


def test_unacceptable_media_type_is_a_problem_document(client: Client) -> None:
    assert_problem(client.get(API, headers={"Accept": "image/png"}), 406, "not-acceptable")


@pytest.mark.django_db
def test_unexpected_exception_in_the_api_is_a_problem_document_without_its_message(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: RecipeListView, request: HttpRequest) -> None:
        raise RuntimeError("s3cret detail")

    monkeypatch.setattr(RecipeListView, "get", fail)
    client.raise_request_exception = False
    answer = client.get(API)
    assert_problem(answer, 500, "internal-error")
    assert b"s3cret" not in answer.content


def test_unknown_page_outside_the_api_is_not_a_problem_document(client: Client) -> None:
    answer = client.get("/nowhere/")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/")


def test_form_without_its_token_is_refused_with_a_page() -> None:
    answer = Client(enforce_csrf_checks=True).post("/sign-in/", {"username": "a", "password": "b"})
    assert answer.status_code == 403
    assert answer["Content-Type"].startswith("text/html")


def test_wrong_host_outside_the_api_is_a_page_that_does_not_echo_it(client: Client) -> None:
    answer = client.get("/", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert answer["Content-Type"].startswith("text/html")
    assert b"evil.example" not in answer.content


def test_what_strangers_type_is_not_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    client.get(API, headers={"Host": "evil.example"})
    client.get("/typed-by-a-stranger/")
    client.post(API)
    assert caplog.records == []
