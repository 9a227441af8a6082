"""Which pages of other origins may be devices, and that they may do nothing else."""

from collections.abc import Iterable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.exceptions import ImproperlyConfigured

from panapp import environment
from panapp.roles import ROLES
from panprivacy.protocols.attestation import sign_capsule
from reports.device_origins import DeviceOrigins

LIBRARY = "https://library.example"
RECIPE = f"/api/v1/recipes/{'a' * 64}/"
TASK = "A" * 43


def answered(role: str, path: str, method: str = "GET", **environ: str) -> tuple[str, dict[str, str]]:
    """Status and header of the answer to a request below a role's addresses."""
    given: list[tuple[str, dict[str, str]]] = []

    def application(_: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Type", "application/json")])
        return [b"{}"]

    asked = ROLES[role]
    made = DeviceOrigins(application, asked.urlconf, (*asked.oblivious, *asked.direct), [LIBRARY])
    made(
        {"REQUEST_METHOD": method, "PATH_INFO": path, **environ},
        lambda status, headers: given.append((status, dict(headers))),
    )
    return given[0]


@pytest.mark.parametrize(
    ("role", "path"),
    [
        ("all-in-one", RECIPE),
        ("all-in-one", f"{RECIPE}proof/"),
        ("all-in-one", f"{RECIPE}reports/"),
        ("all-in-one", "/log/tile/0/000"),
        ("leader", "/leader/hpke_config"),
        ("leader", f"/leader/tasks/{TASK}/reports"),
        ("helper", "/helper/hpke_config"),
        ("relay", "/relay/site"),
        ("relay", "/relay/site/helper"),
        ("attester", "/attester/issuer-keys"),
        ("attester", "/attester/token"),
        ("attester", "/attester/enrolments"),
    ],
)
def test_only_pages_of_a_named_origin_read_what_devices_ask(role: str, path: str) -> None:
    _, header = answered(role, path, HTTP_ORIGIN=LIBRARY)
    assert header["Access-Control-Allow-Origin"] == LIBRARY
    assert "Access-Control-Allow-Credentials" not in header
    for other in ("https://elsewhere.example", "null", f"{LIBRARY}.evil.example", LIBRARY.upper()):
        status, header = answered(role, path, HTTP_ORIGIN=other)
        assert (status, header["Vary"]) == ("200 OK", "Origin")
        assert not [name for name in header if name.startswith("Access-Control")]
    assert answered(role, path)[1]["Vary"] == "Origin"


@pytest.mark.parametrize(
    ("role", "path"),
    [
        ("all-in-one", "/"),
        ("all-in-one", "/sign-in/"),
        ("all-in-one", "/api/v1/recipes/"),
        ("all-in-one", f"{RECIPE}items/"),
        ("all-in-one", "/api/v1/manage/drafts/"),
        ("all-in-one", "/nowhere/"),
        ("helper", f"/helper/tasks/{TASK}"),
        ("relay", "/status.json"),
        ("attester", "/"),
        ("issuer", "/issuer/tokens"),
    ],
)
def test_nothing_else_may_be_read(role: str, path: str) -> None:
    _, header = answered(role, path, HTTP_ORIGIN=LIBRARY)
    assert header == {"Content-Type": "application/json"}


def test_a_named_origin_may_ask_first_and_gets_no_content() -> None:
    asked = {"HTTP_ACCESS_CONTROL_REQUEST_METHOD": "POST"}
    status, header = answered("all-in-one", f"{RECIPE}reports/", "OPTIONS", HTTP_ORIGIN=LIBRARY, **asked)
    assert status == "204 No Content"
    allowed = set(header["Access-Control-Allow-Headers"].split(", "))
    sent = sign_capsule("https://attester.example/attester/token", b"", Ed25519PrivateKey.generate(), 0)
    assert allowed == set(sent)
    other = "https://elsewhere.example"
    status, header = answered("all-in-one", f"{RECIPE}reports/", "OPTIONS", HTTP_ORIGIN=other, **asked)
    assert (status, "Access-Control-Allow-Methods" in header) == ("200 OK", False)


@pytest.mark.parametrize("wrong", ["*", "null", "library.example", f"{LIBRARY}/", "http://library.example"])
def test_what_is_no_origin_is_refused(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("PANAPP_DEVICE_ORIGINS", f"{LIBRARY},{wrong}")
    with pytest.raises(ImproperlyConfigured, match="PANAPP_DEVICE_ORIGINS must be"):
        environment.origins("PANAPP_DEVICE_ORIGINS", secure=True)
    monkeypatch.setenv("PANAPP_DEVICE_ORIGINS", f"{LIBRARY}, https://a.example:8443")
    assert environment.origins("PANAPP_DEVICE_ORIGINS", secure=True) == [LIBRARY, "https://a.example:8443"]
