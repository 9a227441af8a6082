"""Partners have no worker that signs: whoever enters something does, and no failure undoes the entry."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import OperationalError
from django.db.models.signals import post_save
from django.test import Client

from audit.actions import ACCESS_DENIED
from audit.models import Entry
from audit.operations import entry_append
from panapp.roles import ROLES
from public_log import signing_at_once
from public_log.apps import SignedAtOnceConfig
from public_log.selectors import latest_checkpoint

pytestmark = pytest.mark.django_db


@pytest.fixture
def partner() -> Iterator[None]:
    """As a partner sets up its log."""
    SignedAtOnceConfig("public_log", apps.get_app_config("public_log").module).ready()
    yield
    assert post_save.disconnect(sender=Entry, dispatch_uid="public_log")


def append() -> None:
    entry_append(action=ACCESS_DENIED, subject="s", actor=None, details={})


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
def test_what_could_not_be_signed_stands_and_is_signed_when_somebody_looks(
    trouble: str, monkeypatch: pytest.MonkeyPatch, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    key = settings.SIGNING_KEY

    def busy() -> int:
        raise OperationalError("database is locked")

    if trouble == "no key":
        settings.SIGNING_KEY = b""
    else:
        monkeypatch.setattr(signing_at_once, "integrate", busy)
    with django_capture_on_commit_callbacks(execute=True):
        append()
    assert (Entry.objects.count(), signed()) == (1, 0)
    settings.SIGNING_KEY = key
    monkeypatch.undo()
    Client().get("/health/ready")
    assert signed() == 1


def test_every_role_without_workers_signs_at_once() -> None:
    for role in ROLES.values():
        assert ("public_log.apps.SignedAtOnceConfig" in role.apps) == (not role.tasks), role.name
        assert "log" in role.checks
