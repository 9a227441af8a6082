"""Partners sign their log without a worker. Keys of partners are entered when they come, change or go."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import OperationalError
from django.db.models.signals import post_save
from django.test import Client

from log.audit.models import Entry
from log.public_log import immediate_signing
from log.public_log.apps import SignedAtOnceConfig
from log.public_log.models import Leaf
from log.public_log.partner_keys import MOST_A_DAY, partner_keys_enter, partner_keys_entered
from log.public_log.selectors import latest_checkpoint
from log.public_log.tasks import integrate_entries
from panapp.roles import ROLES
from panprivacy.formats import base64_text
from tests.collections.log.public_log.scene import append

pytestmark = pytest.mark.django_db


@pytest.fixture
def partner() -> Iterator[None]:
    """As a partner sets up its log."""
    SignedAtOnceConfig("public_log", apps.get_app_config("public_log").module).ready()
    yield
    assert post_save.disconnect(sender=Entry, dispatch_uid="public_log")


def signed() -> int:
    newest = latest_checkpoint()
    return 0 if newest is None else newest.size


@pytest.mark.usefixtures("partner")
def test_what_a_partner_enters_is_signed_after_the_commit(django_capture_on_commit_callbacks: Any) -> None:
    for size in (1, 2):
        with django_capture_on_commit_callbacks(execute=True):
            append()
            assert signed() < size
        assert signed() == size


@pytest.mark.usefixtures("partner")
@pytest.mark.parametrize("trouble", ["no key", "busy"])
def test_unsigned_entry_is_signed_at_the_next_request(
    trouble: str, monkeypatch: pytest.MonkeyPatch, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    key = settings.SIGNING_KEY

    def busy() -> int:
        raise OperationalError("database is locked")

    if trouble == "no key":
        settings.SIGNING_KEY = b""
    else:
        monkeypatch.setattr(immediate_signing, "integrate", busy)
    with django_capture_on_commit_callbacks(execute=True):
        append()
    assert (Entry.objects.count(), signed()) == (1, 0)
    settings.SIGNING_KEY = key
    monkeypatch.undo()
    Client().get("/health/ready")
    assert signed() == 1


def test_every_role_without_workers_signs_at_once() -> None:
    for role in ROLES.values():
        assert ("log.public_log.apps.SignedAtOnceConfig" in role.apps) == (not role.tasks), role.name
        assert "log" in role.checks


ONE, OTHER = bytes(range(32)), bytes(32)


def entered(settings: Any, **keys: bytes) -> list[tuple[str, str]]:
    """What is entered of these keys, besides what was."""
    settings.PARTNER_KEYS = keys
    before = Entry.objects.count()
    for _ in range(2):
        partner_keys_enter()
    return list(Entry.objects.filter(index__gt=before).order_by("index").values_list("action", "subject"))


def test_keys_are_entered_when_they_come_change_or_go(settings: Any) -> None:
    came, went = "partner_key_introduced", "partner_key_retired"
    assert entered(settings) == []
    assert entered(settings, helper=ONE, issuer=ONE) == [(came, "helper"), (came, "issuer")]
    assert entered(settings, helper=OTHER, issuer=ONE) == [(went, "helper"), (came, "helper")]
    assert entered(settings, helper=OTHER) == [(went, "issuer")]
    assert partner_keys_entered() == {"helper": base64_text.encode(OTHER)}
    integrate_entries()
    first = json.loads(Leaf.objects.get(position=0).content)
    assert (first["subject"], first["details"]) == ("helper", {"key": base64_text.encode(ONE)})


def test_processes_that_disagree_do_not_fill_the_log(settings: Any) -> None:
    for _ in range(2 * MOST_A_DAY):
        entered(settings, helper=ONE)
        entered(settings, helper=OTHER)
    assert Entry.objects.count() <= 2 * MOST_A_DAY
