"""A database that was down was told as a fault of ours: pages answered 500.

Now: every address that needs it answers 503 with `Retry-After`, under /api/ and of partners as a problem
document. What needs no database goes on answering.
"""

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from tests.panapp.test_roles import helper_settings, shuffler_settings

__all__ = ["helper_settings", "shuffler_settings"]

ADDRESSES = [
    "/",
    f"/recipes/{'0' * 64}/",
    "/populations/",
    "/populations/everyone/",
    "/populations/everyone/book.csv",
    "/plan/",
    "/api/v1/recipes/",
    "/api/v1/populations/",
    f"/api/v1/recipes/{'0' * 64}/",
    "/leader/hpke_config",
    "/metrics",
    "/health/ready",
]
WITHOUT_DATABASE = ["/health/live", "/api/schema/", "/api/docs/", "/papers/", "/api/v1/verification-key/"]


@pytest.fixture(params=[OperationalError, InterfaceError])
def down(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that answers nothing, whatever is asked."""

    def refuse(*_: object, **__: object) -> None:
        raise request.param("connection to server at 10.0.0.1 failed: password s3cret")

    for name in ("cursor", "chunked_cursor", "ensure_connection"):
        monkeypatch.setattr(connection, name, refuse)


@pytest.fixture
def visitor() -> Client:
    return Client(raise_request_exception=False)


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize("address", ADDRESSES)
def test_every_address_that_needs_the_database_answers_503(visitor: Client, address: str) -> None:
    answer = visitor.get(address)
    if address == "/plan/":  # asks it for nothing but who is signed in
        assert answer.status_code in {200, 503}
        return
    assert answer.status_code == 503, address
    assert b"s3cret" not in answer.content
    if not address.startswith("/health/"):
        assert int(answer["Retry-After"]) > 0
    if address.startswith("/api/"):
        assert answer["Content-Type"] == "application/problem+json"
        assert answer.json()["status"] == 503


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize("address", ["/", "/audit/", "/populations/new/", "/admin/", "/password/"])
def test_somebody_with_a_session_gets_503_too(visitor: Client, address: str) -> None:
    visitor.cookies["sessionid"] = "a" * 32
    assert visitor.get(address).status_code == 503


@pytest.mark.usefixtures("down")
def test_sign_in_answers_503(visitor: Client) -> None:
    credentials = {"username": "mary", "password": "x"}
    assert visitor.post("/sign-in/", credentials).status_code == 503
    assert visitor.post("/sign-in/", credentials).status_code == 503


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize("address", WITHOUT_DATABASE)
def test_what_needs_no_database_goes_on(visitor: Client, address: str) -> None:
    assert visitor.get(address).status_code == 200


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize("role", ["helper_settings", "shuffler_settings"])
def test_pages_of_partners_answer_503(role: str, visitor: Client, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(role)
    answer = visitor.get("/")
    assert answer.status_code == 503
    assert answer.json() == {"title": "Service Unavailable", "status": 503}
    assert int(answer["Retry-After"]) > 0


def test_fault_of_ours_is_a_500_still(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def err(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(connection, "cursor", err)
    assert visitor.get("/populations/").status_code == 500
