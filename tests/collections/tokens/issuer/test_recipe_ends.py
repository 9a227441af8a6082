"""How issuing ends: keys are erased, and what was counted stands."""

import random
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import rfc8785
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from log.audit.models import Entry
from panprivacy.formats import base64_text
from partners.client import PeerRefusedError, PeerUnavailableError
from partners.partner import ask_json
from storage.signing_key import verification_key
from tests.collections.tokens.issuer.scene import Collection, Device, send, site, token_key
from tests.concurrency import KilledError, at_once
from tests.unreadable import make_unreadable
from tokens.issuer import keys as issuer_keys
from tokens.issuer import recipe_ends, token_answers
from tokens.issuer.models import Handle, Issuance
from tokens.issuer.recipe_ends import upkeep
from tokens.issuer.registrations import UNUSED_KEY_LIFETIME
from tokens.issuer.status import status

pytestmark = pytest.mark.django_db


@pytest.mark.django_db(transaction=True)
def test_end_erases_keys_and_handles_and_signs_the_count(folder: Path) -> None:
    collection = Collection().registered()
    asked = [collection.device() for _ in range(3)]
    handles = [device.ask().handle for device in asked]
    send(b"", withheld=[handle for handle in handles[:1] if handle])
    before = set(folder.iterdir())
    answer = collection.end()
    assert answer["issued"] == 2
    message = b"panapp-issued-1\n" + rfc8785.dumps({"recipe": collection.identifier, "issued": 2})
    verification_key().verify(base64_text.decode(answer["signature"]), message)
    assert not Handle.objects.exists()
    assert collection.issuance.sealed is None
    assert not issuer_keys._OPENED
    # The gateway's two keys alone are left.
    assert len(before - set(folder.iterdir())) == 1
    assert len(list(folder.iterdir())) == 2
    # What comes late changes nothing, and who asks late is told so.
    late = asked[0].ask(withheld=[handle for handle in handles if handle])
    assert (late.handle, late.problem) == (None, "recipe-not-open")
    assert collection.end() == answer
    entry = Entry.objects.get(action="issuance_ended")
    assert entry.details == {"reason": "closed", "issued": 2}
    with pytest.raises(PeerRefusedError) as unknown:
        ask_json(site(), "POST", f"/recipes/{'0' * 64}/end", {"reason": "closed"})
    assert unknown.value.problem["type"] == "/problems/unrecognized-recipe"


def test_recipe_that_nobody_ends_is_ended_when_it_closes() -> None:
    collection, simulated = Collection(simulation=False).registered(), Collection().registered()
    assert collection.device().ask().handle
    closes_at = collection.recipe.closes_at
    upkeep(now=closes_at - timedelta(seconds=1))
    assert collection.issuance.state == Issuance.State.ISSUING
    assert simulated.issuance.state == Issuance.State.ENDED  # a simulation is not bound by its times
    upkeep(now=closes_at)
    assert (collection.issuance.state, collection.issuance.issued) == (Issuance.State.ENDED, 1)
    assert collection.end()["issued"] == 1


def test_upkeep_and_status_with_an_unreadable_recipe_do_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    far, near = (Collection(simulation=False, name=name).registered() for name in ("Far", "Near"))
    make_unreadable(monkeypatch, "Far")
    shown = status([far.issuance, near.issuance])["recipes"]
    assert [one["name"] for one in shown] == ["Far", "Near"]
    assert [one["tokens"] for one in shown] == [None, 0]
    upkeep(now=near.recipe.closes_at)
    states = (far.issuance.state, near.issuance.state)
    assert states == (Issuance.State.ISSUING, Issuance.State.ENDED)


def test_recipe_that_has_closed_gets_no_token_before_its_upkeep(monkeypatch: pytest.MonkeyPatch) -> None:
    collection = Collection(simulation=False).registered()
    closed_at = timezone.now()
    monkeypatch.setattr(Issuance, "ends_at", property(lambda _: closed_at))
    assert collection.device().ask().problem == "recipe-not-open"
    assert collection.issuance.state == Issuance.State.ISSUING


@pytest.mark.django_db(transaction=True)
def test_key_that_no_recipe_used_is_erased_after_a_day(folder: Path) -> None:
    token_key(bytes(16))
    now = timezone.now()
    upkeep(now=now)
    assert Issuance.objects.count() == len(list(folder.iterdir())) == 1
    upkeep(now=now + UNUSED_KEY_LIFETIME)
    assert not Issuance.objects.exists()
    assert not list(folder.iterdir())


@pytest.mark.django_db(transaction=True)
def test_tokens_asked_for_while_the_recipe_ends_are_counted_or_refused() -> None:
    collection = Collection().registered()
    devices = [collection.device() for _ in range(4)]
    send(b"")  # makes the gateway's key

    def ask(device: Device) -> int:
        return int(device.ask().handle is not None)

    *granted, issued = at_once(
        *(partial(ask, device) for device in devices for _ in range(2)),
        lambda: int(collection.end()["issued"]),
    )
    assert max(granted[::2].count(1), granted[1::2].count(1)) <= issued
    assert issued == sum(map(max, granted[::2], granted[1::2]))


def test_commands_list_and_end_recipes(capsys: pytest.CaptureFixture[str]) -> None:
    collection = Collection().registered()
    collection.device().ask()
    call_command("issuer_recipes", "list")
    assert f"{collection.identifier}  key made" in (shown := capsys.readouterr().out)
    assert "1 tokens" in shown
    with pytest.raises(CommandError, match="identifier"):
        call_command("issuer_recipes", "end", "0" * 64, "--reason", "gone")
    with pytest.raises(CommandError, match="reason"):
        call_command("issuer_recipes", "end", "--all", "--reason", " ")
    call_command("issuer_recipes", "end", "--all", "--reason", "gone")
    call_command("issuer_recipes", "list")
    assert collection.identifier in capsys.readouterr().out
    call_command("issuer_recipes", "list", "--ended")
    assert "gone" in capsys.readouterr().out
    call_command("issuer_upkeep")


def _killed(*_: object, **__: object) -> None:
    raise KilledError


KILLED_AT: dict[str, tuple[object, str]] = {
    "before the signature": (token_answers, "issue"),
    "in the transaction, before the row": (token_answers, "_count"),
    "after the commit, before the answer": (token_answers, "Answered"),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("steps_taken", [50, pytest.param(300, marks=pytest.mark.long)])
def test_no_sequence_of_crashes_and_retries_counts_anything_twice(
    monkeypatch: pytest.MonkeyPatch, steps_taken: int
) -> None:
    """Random steps, against what a list of names says that was counted."""
    source = random.Random(9578)
    collection = Collection().registered()
    devices = [collection.device() for _ in range(6)]
    handles: dict[int, bytes] = {}
    counted: set[int] = set()
    withheld: set[int] = set()

    def ask(number: int) -> None:
        named = [number for number in handles if source.random() < 0.1]
        at = source.choice([None, None, *KILLED_AT])
        with monkeypatch.context() as patch:
            if at is not None:
                patch.setattr(*KILLED_AT[at], _killed)
            try:
                told = devices[number].ask(withheld=[handles[one] for one in named])
            except KilledError:
                told = None
        if at is None or at.startswith("after"):
            counted.add(number)
            withheld.update(named)
        if told is not None and told.handle is not None:
            assert handles.setdefault(number, told.handle) == told.handle

    steps: list[Callable[[], object]] = [
        *(partial(ask, number) for number in range(len(devices))),
        issuer_keys._OPENED.clear,
        collection.register,
    ]
    for _ in range(steps_taken):
        source.choice(steps)()
        assert collection.counted == len(counted - withheld)
    assert counted
    assert withheld
    assert collection.end()["issued"] == len(counted - withheld)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("at", ["entry_append", "secret_erase"])
def test_end_that_is_killed_is_as_if_it_had_not_begun(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = Collection().registered()
    device = collection.device()
    assert device.ask().handle
    with monkeypatch.context() as patch:
        patch.setattr(recipe_ends, at, _killed)
        with pytest.raises((KilledError, PeerUnavailableError)):
            collection.end()
    assert device.ask().handle
    assert collection.end()["issued"] == 1


def test_page_shows_a_coarse_number_of_tokens_until_the_end(client: Client) -> None:
    collection = Collection().registered()
    collection.device().ask()
    (shown,) = client.get("/status.json").json()["recipes"]
    assert (shown["tokens"], shown["issued"], shown["state"]) == (0, None, "issuing")
    assert "few or none" in " ".join(client.get("/").content.decode().split())
    collection.end("closed in time")
    (shown,) = client.get("/status.json").json()["recipes"]
    assert (shown["issued"], shown["state"], shown["outcome"]) == (1, "ended", "closed in time")
    assert "closed in time" in client.get("/").content.decode()
