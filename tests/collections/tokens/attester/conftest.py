"""Every test here runs with the addresses and settings of an attester."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.collections.tokens.attester.scene import FakeIssuer


@pytest.fixture(autouse=True)
def _attester_role(settings: Any) -> None:
    # Here, because this file is read before Django is set up.
    from tests.collections.tokens.attester.scene import ATTESTER_URL, ISSUER_URL

    settings.ROOT_URLCONF = "panapp.attester_urls"
    settings.ATTESTER_URL, settings.ISSUER_URL = ATTESTER_URL, ISSUER_URL
    settings.ATTESTATION = "roster"


@pytest.fixture
def issuer(settings: Any, monkeypatch: pytest.MonkeyPatch) -> "Iterator[FakeIssuer]":
    """The issuer that the settings name, over a network that tests can break."""
    from tests.collections.tokens.attester.scene import FakeIssuer
    from tokens.attester import limits
    from tokens.attester.issuer_keys import ISSUER_KEYS

    fake = FakeIssuer()
    settings.ISSUER_KEY = fake.verification_key
    for module in ("tokens.attester.issuer", "tokens.attester.issuer_keys"):
        monkeypatch.setattr(f"{module}.https_transport", fake.transport)
    monkeypatch.setattr(limits.REQUESTS, "_window", -1)
    # The hour in which devices are counted does not end within a test.
    monkeypatch.setattr(limits, "monotonic", lambda: 0.5 * limits.WINDOW_SECONDS)
    ISSUER_KEYS.forget()
    yield fake
    ISSUER_KEYS.forget()
