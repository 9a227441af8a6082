"""Pages of one's own subscriptions: a secret is shown once, and nobody sees another's."""

import pytest
from django.conf import LazySettings
from django.test import Client

from log.audit.models import Entry
from notifications.models import Delivery, Subscription
from storage.models import ErasableKey
from tests.collections.notifications.scene import read_all
from tests.factories import published_recipe
from tests.scenes import account

HOOK = {"webhook-url": "https://receiver.example/hook?key=k", "webhook-events": ["recipe.published"]}


@pytest.fixture
def ana(client: Client) -> Client:
    client.force_login(account("ana"))
    return client


def test_webhook_is_added_with_a_secret_that_is_shown_once(ana: Client) -> None:
    refused = ana.post("/notifications/", {**HOOK, "webhook-url": "https://127.0.0.1/secret"})
    assert refused.status_code == 422
    for said in ("Must be of a public host", 'value="https://127.0.0.1/secret"'):
        assert said in refused.content.decode()
    assert "whsec_" in ana.post("/notifications/", HOOK).content.decode()
    hook = Subscription.objects.get()
    again = ana.get(f"/notifications/{hook.identifier}/").content.decode()
    assert "receiver.example" in again
    assert "whsec_" not in again
    assert "whsec_" in ana.post(f"/notifications/{hook.identifier}/rotate/").content.decode()
    log = str(list(Entry.objects.values_list("details", flat=True)))
    assert "receiver.example" in log
    assert "key=k" not in log, "an address may hold a secret"
    assert "whsec_" not in log


def test_deliveries_are_listed_and_sent_again(ana: Client) -> None:
    ana.post("/notifications/", HOOK)
    published_recipe(name="Crashes <b>")
    read_all()
    Delivery.objects.update(state=Delivery.State.FAILED)
    path = f"/notifications/{Subscription.objects.get().identifier}/"
    row = Delivery.objects.get()
    assert "Crashes &lt;b&gt;" in ana.get(path).content.decode()
    ana.post(f"{path}deliveries/{row.message}/again/")
    row.refresh_from_db()
    assert row.state == Delivery.State.WAITING
    ana.post(f"{path}test/")
    assert Delivery.objects.filter(purpose="test").count() == 1


def test_another_account_finds_none_of_it(ana: Client) -> None:
    ana.post("/notifications/", HOOK)
    path = f"/notifications/{Subscription.objects.get().identifier}/"
    ana.force_login(account("otto", is_superuser=True))
    assert "receiver.example" not in ana.get("/notifications/").content.decode()
    assert ana.get(path).status_code == 404
    assert [ana.post(f"{path}{each}/").status_code for each in ("test", "rotate", "delete")] == [404] * 3


def test_deleting_erases_the_key_of_the_secret_also_with_its_account(ana: Client) -> None:
    for _ in range(2):
        ana.post("/notifications/", HOOK)
    first, second = Subscription.objects.all()
    keys = ErasableKey.objects.count()
    ana.post(f"/notifications/{first.identifier}/delete/")
    assert ErasableKey.objects.count() == keys - 1
    second.user.delete()
    assert ErasableKey.objects.count() == keys - 2


def test_page_says_what_is_off(ana: Client, settings: LazySettings) -> None:
    settings.EMAIL_FROM = ""
    assert "E-mail is off" in ana.get("/notifications/").content.decode()
    settings.SITE_URL = None
    page = ana.get("/notifications/").content.decode()
    assert "No notifications are sent here" in page
    assert "New webhook" not in page
