import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from playwright.sync_api import expect

from notifications.delivering import deliveries_take, delivery_send
from notifications.outbox import log_read
from tests.factories import published_recipe
from tests.scenes import PASSWORD, analyst

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def site(settings: LazySettings, live_server: Any) -> None:
    settings.SITE_URL = live_server.url
    settings.EMAIL_FROM = "telemetry@telemetry.example"
    log_read()


def tick(status: int) -> None:
    """What workers do, with a receiver that answers so."""
    while log_read():
        pass
    for delivery in deliveries_take():
        delivery_send(delivery=delivery, transport=lambda *_: (status, {}, b""))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"color_scheme": "light", "viewport": {"width": 1200, "height": 900}}, id="light"),
        pytest.param(
            {"color_scheme": "dark", "viewport": {"width": 400, "height": 900}}, id="dark and narrow"
        ),
        pytest.param({"java_script_enabled": False}, id="without JavaScript"),
    ],
)
def test_webhook_is_added_tested_failing_sent_again_and_deleted(
    visit: Callable[..., Visitor], options: dict[str, Any]
) -> None:
    analyst()
    visitor = visit(**options)
    visitor.sign_in("ana", PASSWORD)
    page = visitor.page
    page.locator("summary", has_text="Account").click()
    page.get_by_role("link", name="Notifications").click()
    expect(page.get_by_text("You have no subscriptions.")).to_be_visible()
    looked_at(visitor, options, "list")
    webhook = page.get_by_role("region", name="New webhook")
    webhook.get_by_label("Address").fill("https://127.0.0.1/")
    webhook.get_by_label("Recipe published").check()
    webhook.get_by_role("button", name="Add the webhook").click()
    expect(webhook.get_by_text("Must be of a public host")).to_be_visible()
    expect(webhook.get_by_label("Recipe published")).to_be_checked()
    visitor.complaints = [each for each in visitor.complaints if "422" not in each]
    looked_at(visitor, options, "refused")
    webhook.get_by_label("Address").fill("https://receiver.example/hook")
    webhook.get_by_role("button", name="Add the webhook").click()
    expect(page.locator("#secret-text")).to_contain_text("whsec_")
    looked_at(visitor, options, "secret")
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("A test is on its way.")).to_be_visible()
    published_recipe()
    tick(503)
    page.reload()
    expect(page.get_by_text("Failing since")).to_be_visible()
    expect(page.get_by_text("status 503, refused").first).to_be_visible()
    expect(page.get_by_text("next attempt")).to_be_visible()
    looked_at(visitor, options, "failing")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The subscription is deleted.")).to_be_visible()


def test_address_is_confirmed_and_mails_are_ended_by_their_links(visit: Callable[..., Visitor]) -> None:
    analyst()
    visitor = visit()
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open("/notifications/")
    form = page.get_by_role("region", name="E-mail")
    form.get_by_label("Your e-mail address").fill("ana@people.example")
    form.get_by_label("Result released").check()
    form.get_by_role("button", name="Send the link").click()
    expect(page.get_by_text("Open the link that we send")).to_be_visible()
    expect(page.get_by_text("Waits for the link")).to_be_visible()
    tick(0)
    stranger = visit()
    (confirm,) = re.findall(r"http\S+/confirm/\S+", mail.outbox[0].body)
    stranger.page.goto(confirm)
    looked_at(stranger, {}, "confirm")
    stranger.page.get_by_role("button", name="Confirm").click()
    expect(stranger.page.get_by_role("heading", name="Your address is confirmed")).to_be_visible()
    ending = mail.outbox[0].extra_headers["List-Unsubscribe"].strip("<>")
    stranger.page.goto(ending)
    stranger.page.get_by_role("button", name="Unsubscribe").click()
    expect(stranger.page.get_by_role("heading", name="You get no more mails")).to_be_visible()
    assert violations(stranger) == []


def looked_at(visitor: Visitor, options: dict[str, Any], name: str) -> None:
    if folder := os.environ.get("SHOTS"):
        kind = options.get("color_scheme", "plain")
        visitor.page.screenshot(path=f"{folder}/{name}-{kind}.png", full_page=True)
    assert violations(visitor) == []
