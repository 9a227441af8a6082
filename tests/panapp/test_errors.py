from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadhandler import (
    FileUploadHandler,
    MemoryFileUploadHandler,
    TemporaryFileUploadHandler,
)
from django.http import HttpResponse
from django.test import Client

API, LEADER = "/api/v1/recipes/", "/leader/hpke_config"


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


@pytest.fixture
def signed() -> Client:
    """One that checks the token of forms, and bears it."""
    token = "abcdefghijklmnopqrstuvwxyzABCDEF"
    client = Client(enforce_csrf_checks=True, raise_request_exception=False, headers={"X-CSRFToken": token})
    client.cookies["csrftoken"] = token
    return client


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/x-www-form-urlencoded; charset=utf-16", b"x=1"),
        ("multipart/form-data", b"x=1"),
        ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % number for number in range(1_100))),
    ],
)
@pytest.mark.parametrize("address", ["/plan/?q=%01", "/nope/", "/sign-in/"])
def test_form_that_cannot_be_read_is_a_bad_request_wherever_it_goes(
    signed: Client, address: str, content_type: str, body: bytes
) -> None:
    """The pages of errors look for a token in the form, too."""
    answer = signed.post(address, body, content_type=content_type)
    assert answer.status_code in {400, 403, 404, 405}
    assert answer["X-Content-Type-Options"] == "nosniff"
    if address == "/nope/":
        assert (answer.status_code, answer["Content-Type"]) == (400, "text/html; charset=utf-8")


@pytest.mark.django_db
@pytest.mark.parametrize("size", [0, 3_000_000])
@pytest.mark.parametrize("address", ["/sign-in/", "/nope/"])
def test_form_with_a_file_is_refused_before_the_file_is_read(
    address: str, size: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def keep(self: FileUploadHandler, *_: object) -> None:
        raise AssertionError("the file is kept")

    monkeypatch.setattr(MemoryFileUploadHandler, "new_file", keep)
    monkeypatch.setattr(TemporaryFileUploadHandler, "new_file", keep)
    client = Client(enforce_csrf_checks=True)
    client.cookies["csrftoken"] = "abcdefghijklmnopqrstuvwxyzABCDEF"
    sent = {"username": "ada", "file": ContentFile(b"x" * size, name="x")}
    answer = client.post(address, sent)
    assert (answer.status_code, answer["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert "This request cannot be read" in answer.content.decode()
    assert_problem(client.post("/api/v1/plan", sent), 415, "unsupported-media-type")
    assert caplog.records == []


@pytest.mark.parametrize(
    ("method", "address", "header", "status", "kind", "allowed"),
    [
        ("get", API, {"Host": "evil.example"}, 400, "bad-request", None),
        ("get", LEADER, {"Host": "evil.example"}, 400, "bad-request", None),
        ("put", API, {}, 405, "method-not-allowed", "GET, POST, HEAD, OPTIONS"),
        *((name, LEADER, {}, 405, "method-not-allowed", "GET, HEAD") for name in ("post", "put", "delete")),
        ("get", API, {"Accept": "image/png"}, 406, "not-acceptable", None),
    ],
)
def test_wrong_request_of_a_program_is_a_problem_document(
    client: Client, method: str, address: str, header: dict[str, str], status: int, kind: str, allowed: Any
) -> None:
    answer = getattr(client, method)(address, headers=header)
    assert_problem(answer, status, kind)
    assert allowed in (None, answer.get("Allow"))
    assert b"evil.example" not in answer.content


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "failing"),
    [(API, "recipes.api.RecipeListView.get"), (LEADER, "dap.views.hpke_config_list")],
)
def test_unexpected_exception_is_a_problem_document_without_its_message(
    client: Client, monkeypatch: pytest.MonkeyPatch, address: str, failing: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("s3cret detail")

    monkeypatch.setattr(failing, fail)
    client.raise_request_exception = False
    answer = client.get(address)
    assert_problem(answer, 500, "internal-error")
    assert b"s3cret" not in answer.content


@pytest.mark.parametrize(
    ("method", "address", "host", "status"),
    [
        ("get", "/", "evil.example", 400),
        ("get", "/nowhere/", "testserver", 404),
        ("post", "/sign-in/", "testserver", 403),  # without its token
    ],
)
def test_wrong_request_of_a_browser_is_a_page(method: str, address: str, host: str, status: int) -> None:
    answer = getattr(Client(enforce_csrf_checks=True), method)(address, headers={"Host": host})
    assert answer.status_code == status
    assert answer["Content-Type"].startswith("text/html")
    assert b"evil.example" not in answer.content


def test_what_strangers_type_is_not_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    client.get(API, headers={"Host": "evil.example"})
    client.get("/typed-by-a-stranger/")
    client.post(API)
    assert caplog.records == []
