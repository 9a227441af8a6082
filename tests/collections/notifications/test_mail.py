"""One mail for one event, to an address that its owner confirmed, and easily ended."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage
from django.test import Client

from notifications.delivery import deliveries_take, delivery_send
from notifications.models import Attempt, Delivery, Subscription
from notifications.operations import MOST_AN_HOUR, TooOftenError, mail_subscribe
from notifications.selectors import by_confirmation
from panprivacy.formats.errors import FieldError
from storage import clock
from tests.clock import time_is
from tests.collections.notifications.scene import read_all
from tests.factories import published_recipe
from tests.scenes import account

ADDRESS = "ana@people.example"


def sent() -> list[EmailMessage]:
    """What was sent since the last time."""
    read_all()
    for delivery in deliveries_take():
        delivery_send(delivery=delivery)
    found, mail.outbox[:] = list(mail.outbox), []
    return found


def link_in(message: EmailMessage) -> str:
    """The path of the first link."""
    return re.search(r"https://telemetry\.example(/\S+)", message.body)[1]


@pytest.fixture
def ana() -> User:
    return account("ana")


def subscribed(client: Client, user: User) -> Subscription:
    mail_subscribe(user=user, address=ADDRESS, events=["recipe.published"])
    (message,) = sent()
    client.post(link_in(message))
    return Subscription.objects.get()


def test_nothing_is_sent_before_the_link_is_confirmed(client: Client, ana: User) -> None:
    mail_subscribe(user=ana, address=ADDRESS, events=["recipe.published"])
    (message,) = sent()
    assert message.to == [ADDRESS]
    assert client.get(link_in(message)).status_code == 200
    published_recipe()
    assert sent() == []
    assert "is confirmed" in client.post(link_in(message)).content.decode()
    confirmed_at = Subscription.objects.get().confirmed_at
    client.post(link_in(message))
    assert Subscription.objects.get().confirmed_at == confirmed_at, "it works once"
    published_recipe()
    assert len(sent()) == 1


def test_changed_or_late_link_confirms_nothing(
    client: Client, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail_subscribe(user=ana, address=ADDRESS, events=["recipe.published"])
    (first,) = sent()
    replaced = mail_subscribe(user=ana, address="new@people.example", events=["recipe.published"])
    (second,) = sent()
    *_, identifier, expires, code, _ = link_in(second).split("/")
    later = str(int(expires) + 1)
    for path in (link_in(first), link_in(second).replace(expires, later), link_in(second).replace(code, "x")):
        assert client.post(path).status_code == 404
    assert by_confirmation(identifier, int(expires), code) == replaced
    over = clock.database_now() + timedelta(days=2, minutes=1)
    time_is(monkeypatch, lambda: over)
    assert client.post(link_in(second)).status_code == 404
    assert Subscription.objects.get().confirmed_at is None


def test_event_is_one_mail_in_plain_words_with_a_way_to_end_it(client: Client, ana: User) -> None:
    subscription = subscribed(client, ana)
    recipe = published_recipe(name="Crashes of the app")
    (message,) = sent()
    assert sent() == []
    assert message.subject == "Recipe published: Crashes of the app"
    assert f"https://telemetry.example/recipes/{recipe.identifier}/" in message.body
    assert message.content_subtype == "plain"
    delivery = Delivery.objects.get(event__isnull=False)
    headers = message.extra_headers
    assert headers["Message-ID"] == f"<{delivery.message_id}@telemetry.example>"
    ending = headers["List-Unsubscribe"].strip("<>")
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert ending in message.body
    path = ending.removeprefix("https://telemetry.example")
    # As mail programs do: without a cookie or a form.
    one_click = Client(enforce_csrf_checks=True)
    assert one_click.get(path).status_code == 200
    assert Subscription.objects.filter(pk=subscription.pk).exists(), "looking ends nothing"
    assert one_click.post(path, {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert not Subscription.objects.exists()
    assert one_click.post(path).status_code == 404


def test_name_of_a_recipe_adds_no_header(client: Client, ana: User) -> None:
    subscribed(client, ana)
    published_recipe()
    read_all()
    delivery = Delivery.objects.get(event__isnull=False)
    delivery.event.name = "x\r\nBcc: all@people.example\r\n\r\nbody"
    delivery.event.save()
    (message,) = sent()
    written = message.message()
    assert written["Bcc"] is None
    assert "\n" not in message.subject
    assert message.recipients() == [ADDRESS]


@pytest.mark.parametrize(
    "address",
    ["", "nobody", "a@b\r\nBcc: c@d.example", "a@people.example, b@people.example", "ä@people.example"],
)
def test_what_is_no_single_address_is_refused(ana: User, address: str) -> None:
    with pytest.raises(FieldError, match=r"^address"):
        mail_subscribe(user=ana, address=address, events=["recipe.published"])


def test_account_has_one_address_and_a_limit_of_mails_to_it(ana: User) -> None:
    for number in range(MOST_AN_HOUR):
        mail_subscribe(user=ana, address=f"a{number}@people.example", events=["recipe.published"])
    assert Subscription.objects.count() == 1
    with pytest.raises(TooOftenError, match="within an hour"):
        mail_subscribe(user=ana, address=ADDRESS, events=["recipe.published"])


def test_silent_mail_server_is_tried_again(
    client: Client, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribed(client, ana)
    published_recipe()
    monkeypatch.setattr(EmailMessage, "send", lambda self: (_ for _ in ()).throw(ConnectionRefusedError))
    assert sent() == []
    delivery = Delivery.objects.get(event__isnull=False)
    assert delivery.state == Delivery.State.WAITING
    problem = "the mail server did not take it: ConnectionRefusedError"
    assert Attempt.objects.get(delivery=delivery).problem == problem
