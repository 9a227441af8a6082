"""A database that is down is no fault of the site: pages must not answer 500.

Required: every address that needs it answers 503 with `Retry-After`, under /api/ and of partners as a problem
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
    "/api/v1/recipes/",
    "/api/v1/populations/",
    f"/api/v1/recipes/{'0' * 64}/",
    "/leader/hpke_config",
    "/metrics",
    "/health/ready",
]


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
def test_every_address_that_needs_the_database_answers_503(visitor: Client) -> None:
    for address in ADDRESSES:
        answer = visitor.get(address)
        assert answer.status_code == 503, address
        assert b"s3cret" not in answer.content
        if not address.startswith("/health/"):
            assert int(answer["Retry-After"]) > 0
        if address.startswith("/api/"):
            assert answer["Content-Type"] == "application/problem+json"
            assert answer.json()["status"] == 503


@pytest.mark.usefixtures("down")
def test_sign_in_and_requests_with_a_session_get_503_too(visitor: Client) -> None:
    assert visitor.post("/sign-in/", {"username": "mary", "password": "x"}).status_code == 503
    visitor.cookies["sessionid"] = "a" * 32
    for address in ("/", "/audit/", "/populations/new/", "/admin/", "/password/"):
        assert visitor.get(address).status_code == 503, address


@pytest.mark.usefixtures("down")
def test_what_needs_no_database_goes_on(visitor: Client) -> None:
    for address in ("/health/live", "/api/schema/", "/api/docs/", "/papers/", "/api/v1/verification-key/"):
        assert visitor.get(address).status_code == 200, address


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
