"""A managed computer comes to be known by a real attester of the kind `roster`, and gets its token."""

import base64
import re
import secrets
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from panprivacy.protocols.oblivious_prf import evaluation
from tests.browser.extension import Managed
from tests.browser.test_extension import WithTokens
from tests.collections.tokens.attester.scene import ISSUER_URL, FakeIssuer
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.tokens import ISSUER_KEY
from tokens.attester import limits
from tokens.attester.enrolment import codes_make, devices_enrol, devices_revoke
from tokens.attester.issuer_keys import ISSUER_KEYS
from tokens.attester.models import Device, EnrolmentCode, Issued

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

UNKNOWN = re.compile("whose key is ([A-Za-z0-9+/]{43}=)")


@pytest.fixture
def issuer(settings: Any, live_server: Any, monkeypatch: pytest.MonkeyPatch) -> FakeIssuer:
    """Behind this process, which is the attester that browsers reach."""
    fake = FakeIssuer(signing_key=ISSUER_KEY)
    settings.ROOT_URLCONF, settings.ATTESTATION = "panapp.attester_urls", "roster"
    # Of this machine the extension may ask this address alone.
    address = live_server.url.replace("localhost", "127.0.0.1")
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "127.0.0.1"]
    settings.ATTESTER_URL, settings.ISSUER_URL = f"{address}/attester", ISSUER_URL
    settings.ISSUER_KEY = fake.verification_key
    for module in ("tokens.attester.issuer", "tokens.attester.issuer_keys"):
        monkeypatch.setattr(f"{module}.https_transport", fake.transport)
    monkeypatch.setattr(limits.REQUESTS, "_window", -1)
    ISSUER_KEYS.forget()
    return fake


@pytest.mark.parametrize("way", ["code", "list"])
def test_computer_enrols_and_reports_with_its_one_token(
    browser: Browser, built_extension: Path, tmp_path: Path, settings: Any, issuer: FakeIssuer, way: str
) -> None:
    """By its code alone; or by its key, which the options page names for the attester's list."""
    code = codes_make(number=1, today=date(2026, 1, 1))[0] if way == "code" else None

    def reported(of_policy: Managed) -> bool:
        if way == "list" and not Device.objects.exists():
            unknown = UNKNOWN.search(of_policy.told())
            if unknown is not None:
                devices_enrol(devices={"kiosk 1": base64.b64decode(unknown[1])})
        return bool(scene.server.reports)

    with ExitStack() as stack:
        scene = WithTokens(stack, browser, built_extension, tmp_path, settings.ATTESTER_URL, code)
        issuer.recipes[scene.recipe.identifier] = evaluation.new_key(secrets.SystemRandom()), seeded_key()
        scene.until(reported)
    assert (Device.objects.count(), Issued.objects.count(), issuer.issued) == (1, 1, 1)
    assert EnrolmentCode.objects.filter(used=True).count() == (way == "code")
    assert len(scene.server.reports) == 1


def test_computer_that_was_revoked_is_told_so_though_its_code_was_good(
    browser: Browser, built_extension: Path, tmp_path: Path, settings: Any, issuer: FakeIssuer
) -> None:
    [code] = codes_make(number=1, today=date(2026, 1, 1))

    def told(of_policy: Managed) -> bool:
        for device in Device.objects.filter(revoked=False):
            devices_revoke(
                chosen=[base64.b64encode(bytes(device.key or b"")).decode()], pseudonym_of=lambda _: None
            )
        return "or the device was revoked" in of_policy.told()

    with ExitStack() as stack:
        # The issuer does not know the recipe yet, so that the device asks again.
        scene = WithTokens(stack, browser, built_extension, tmp_path, settings.ATTESTER_URL, code)
        scene.until(told)
    assert (Issued.objects.count(), issuer.issued, scene.server.reports) == (0, 0, {})
