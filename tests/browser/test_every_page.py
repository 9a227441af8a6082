"""Every page of the site: accessible, and not wider than the screen."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from playwright.sync_api import Route, expect

from accounts.second_factor.operations import begun_secret
from notifications.delivery import deliveries_take, delivery_send
from notifications.outbox import log_read
from tests.collections.accounts.second_factor.scene import code_of
from tests.scenes import PASSWORD, account

from .accessibility import violations
from .conftest import Visitor
from .every_page import pages, scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]
WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 400, "height": 800}

NOTHING_LATER = "document.addEventListener('htmx:beforeRequest', (event) => event.preventDefault());"
"""Nothing that HTMX fetches later changes a page while it is looked at."""


def test_every_page_is_accessible_and_fits_the_screen(visit: Visit, client: Any, settings: Any) -> None:
    settings.SITE_URL, settings.EMAIL_FROM = "http://localhost", "telemetry@telemetry.example"
    settings.TRY = True
    user = account("ada", "Analysts", is_staff=True, is_superuser=True)
    client.force_login(user)
    paths = pages(client, scene(user))
    found: list[str] = []
    scripted = visit(reduced_motion="reduce")
    scripted.context.add_init_script(NOTHING_LATER)
    still = visit(viewport=PHONE, reduced_motion="reduce")
    still.context.route("**/*", _without_scripts)

    def look(path: str) -> None:
        scripted.open(path)
        for scheme, size in (("light", WIDE), ("dark", PHONE)):
            scripted.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            scripted.page.set_viewport_size(size)
            found.extend(f"{scheme}, {size['width']}: {path} {each}" for each in violations(scripted))
        still.open(path)
        found.extend(f"without scripts: {path} {each}" for each in violations(still))

    look("/sign-in/")
    for visitor in (scripted, still):
        visitor.sign_in_by_form("ada", PASSWORD)
    for path in paths:
        look(path)
    assert found == []


def _without_scripts(route: Route) -> None:
    """Not switched off altogether, as axe is a script, too."""
    if route.request.resource_type == "script":
        route.fulfill(content_type="text/javascript", body="")
    else:
        route.continue_()


@pytest.fixture
def ready_site(settings: Any, live_server: Any) -> None:
    settings.SITE_URL, settings.EMAIL_FROM = live_server.url, "telemetry@telemetry.example"


@pytest.mark.parametrize("script", [True, False])
def test_what_is_shown_once_after_a_form_is_accessible(visit: Visit, ready_site: None, script: bool) -> None:
    """No address leads to a new token, the secret of a webhook, or recovery codes."""
    ana = account("ana", "Analysts")
    visitor = visit(viewport=PHONE, color_scheme="dark", java_script_enabled=script)
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open("/tokens/")
    page.get_by_label("Name").fill("nightly report")
    page.get_by_label("recipes:read").check()
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Make the token").click()
    expect(page.locator("#token-text")).to_contain_text("panapp_")
    assert violations(visitor) == []

    webhook = visitor.open("/notifications/").get_by_role("region", name="New webhook")
    webhook.get_by_label("Address").fill("https://127.0.0.1/")
    webhook.get_by_label("Recipe published").check()
    webhook.get_by_role("button", name="Add the webhook").click()
    expect(webhook.get_by_text("Must be of a public host")).to_be_visible()
    assert violations(visitor) == []
    visitor.complaints[:] = [said for said in visitor.complaints if "422" not in said]
    webhook.get_by_label("Address").fill("https://receiver.example/hook")
    webhook.get_by_role("button", name="Add the webhook").click()
    expect(page.locator("#secret-text")).to_contain_text("whsec_")
    assert violations(visitor) == []

    page = visitor.open("/second-factor/")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Set one up").click()
    expect(page.get_by_role("img", name="QR code of the secret below")).to_be_visible()
    assert violations(visitor) == []
    secret = begun_secret(ana)
    assert secret is not None
    page.get_by_label("Code", exact=True).fill(code_of(secret, time.time()))
    page.get_by_role("button", name="Set it up").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    assert violations(visitor) == []
    page.get_by_role("link", name="Go on").click()
    page.get_by_role("button", name="Sign out").click()
    page = visitor.open("/sign-in/")
    page.get_by_label("Username").fill("ana")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Code", exact=True)).to_be_visible()
    assert violations(visitor) == []


def test_address_is_confirmed_and_mails_are_ended_by_their_links(visit: Visit, ready_site: None) -> None:
    account("ana", "Analysts")
    visitor, stranger = visit(), visit()
    visitor.sign_in("ana", PASSWORD)
    form = visitor.open("/notifications/").get_by_role("region", name="E-mail")
    form.get_by_label("Your e-mail address").fill("ana@people.example")
    form.get_by_label("Result released").check()
    form.get_by_role("button", name="Send the link").click()
    expect(visitor.page.get_by_text("Waits for the link")).to_be_visible()
    while log_read():
        pass
    for delivery in deliveries_take():
        delivery_send(delivery=delivery)
    (message,) = mail.outbox
    for address, button, heading in (
        (re.findall(r"http\S+/confirm/\S+", message.body)[0], "Confirm", "Your address is confirmed"),
        (message.extra_headers["List-Unsubscribe"].strip("<>"), "Unsubscribe", "You get no more mails"),
    ):
        stranger.page.goto(address)
        assert violations(stranger) == []
        stranger.page.get_by_role("button", name=button).click()
        expect(stranger.page.get_by_role("heading", name=heading)).to_be_visible()
        assert violations(stranger) == []
