"""Keys that settings name for partners are entered when they come, change or go, and not for ever."""

import json
from typing import Any

import pytest

from audit.models import Entry
from panprivacy import base64_text
from public_log.models import Leaf
from public_log.partner_keys import MOST_A_DAY, partner_keys_enter, partner_keys_entered
from public_log.tasks import integrate_entries

pytestmark = pytest.mark.django_db

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


def test_everybody_sees_which_key_it_is(settings: Any) -> None:
    settings.PARTNER_KEYS = {"shuffler": ONE}
    integrate_entries()
    leaf = json.loads(Leaf.objects.get().content)
    assert (leaf["subject"], leaf["details"]) == ("shuffler", {"key": base64_text.encode(ONE)})


def test_processes_that_disagree_do_not_fill_the_log(settings: Any) -> None:
    for _ in range(2 * MOST_A_DAY):
        entered(settings, helper=ONE)
        entered(settings, helper=OTHER)
    assert Entry.objects.count() <= 2 * MOST_A_DAY
