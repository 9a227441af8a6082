"""Erasable keys in a token: what holds for files holds for it, and for hosts that share nothing else."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as installation
from django.db import transaction
from django.test import Client

from storage import erasable_keys
from storage.erasable_keys import (
    KeyErasedError,
    KeyLostError,
    OtherKeyServiceError,
    key_service,
    keys_lost,
    old_keys_erase,
)
from storage.key_service import KeyServiceError
from storage.models import Database, ErasableKey
from storage.sealing import secret_erase, secret_seal, secret_unseal
from tests.collections.storage.key_host import NAMED, SECRET
from tests.collections.storage.soft_token import PIN, SoftToken, needed
from tests.collections.storage.soft_token import token as token
from tests.concurrency import KilledError, in_thread, open_transaction
from tests.patience import PATIENCE
from tests.processes import database_url

pytestmark = [needed, pytest.mark.django_db(transaction=True)]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _in_token(settings: Any, token: SoftToken, tmp_path: Path) -> None:
    settings.KEY_TOKEN, settings.KEY_TOKEN_PIN = token.address, PIN
    settings.ERASABLE_KEYS_DIR = tmp_path / "keys"


def keys() -> int:
    return len(list(key_service().names(Database.objects.get().id.bytes)))


@transaction.atomic
def sealed() -> bytes:
    return secret_seal(SECRET, **NAMED)


@transaction.atomic
def erase(secret: bytes) -> None:
    secret_erase(secret)


def test_sealed_secret_opens_until_it_is_erased() -> None:
    secret = sealed()
    assert secret_unseal(secret, **NAMED) == SECRET
    assert keys() == ErasableKey.objects.count() == 1
    erase(secret)
    assert keys() == ErasableKey.objects.count() == 0
    with pytest.raises(KeyErasedError):
        secret_unseal(secret, **NAMED)
    erase(secret)


def test_key_is_erased_when_the_deletion_is_committed_and_not_before() -> None:
    secret = sealed()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        secret_erase(secret)
        raise ZeroDivisionError
    old_keys_erase()
    assert secret_unseal(secret, **NAMED) == SECRET


@pytest.mark.parametrize("place", ["seal", "generate_key"])
def test_process_killed_around_making_the_key_leaves_no_row_and_no_key(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, service = sealed(), type(key_service())
    seal = service.seal

    def die(*arguments: Any) -> bytes:
        if place == "generate_key":
            seal(*arguments)
        raise KilledError

    with monkeypatch.context() as dying, pytest.raises(KilledError):
        dying.setattr(service, "seal", die)
        sealed()
    assert ErasableKey.objects.count() == 1
    assert keys() == (2 if place == "generate_key" else 1)
    old_keys_erase()
    assert keys() == 1
    assert secret_unseal(kept, **NAMED) == SECRET


def test_key_that_a_crash_left_after_a_deletion_is_erased_by_upkeep(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, secret = sealed(), sealed()
    with monkeypatch.context() as crashing:
        crashing.setattr(erasable_keys, "_erase", lambda name: None)
        erase(secret)
    assert (keys(), ErasableKey.objects.count()) == (2, 1)
    old_keys_erase()
    assert keys() == 1
    assert secret_unseal(kept, **NAMED) == SECRET


@pytest.mark.parametrize("commits", [True, False])
def test_upkeep_waits_for_a_transaction_that_may_still_commit(commits: bool) -> None:
    stored: list[bytes] = []

    def publish() -> None:
        stored.append(secret_seal(SECRET, **NAMED))
        transaction.set_rollback(not commits)

    with open_transaction(publish):
        upkeep = in_thread(old_keys_erase)
        upkeep.join(0.5)
        assert upkeep.is_alive()
    upkeep.join(PATIENCE)
    assert keys() == int(commits)
    if commits:
        assert secret_unseal(stored[0], **NAMED) == SECRET


def test_upkeep_on_another_database_erases_nothing() -> None:
    secret = sealed()
    ErasableKey.objects.all().delete()
    ours = Database.objects.get()
    Database.objects.all().delete()
    Database.objects.create()
    try:
        old_keys_erase()
    finally:
        Database.objects.all().delete()
        ours.save()
    assert secret_unseal(secret, **NAMED) == SECRET


def test_removed_token_is_no_erased_key_and_nothing_is_deleted(token: SoftToken, client: Client) -> None:
    secret, other = sealed(), sealed()
    with token.removed():
        for call in (sealed, lambda: secret_unseal(secret, **NAMED), old_keys_erase, keys_lost):
            with pytest.raises(KeyServiceError):
                call()
        answer = client.get("/health/ready")
        assert (answer.status_code, answer.json()["checks"]["keys"]) == (503, "failed")
        # The deletion is committed. Its key goes when the token is back.
        erase(other)
        assert ErasableKey.objects.count() == 1
    assert secret_unseal(secret, **NAMED) == SECRET
    old_keys_erase()
    assert keys() == 1
    assert keys_lost() == (0, 1)


def test_key_that_the_token_lost_is_missed_and_not_called_erased() -> None:
    secret = sealed()
    key_service().erase(secret[5:37])
    assert keys_lost() == (1, 1)
    with pytest.raises(KeyLostError, match="is not in the token of PANAPP_KEY_SERVICE"):
        secret_unseal(secret, **NAMED)


def test_secret_of_another_kind_of_service_is_refused_and_kept(settings: Any, token: SoftToken) -> None:
    in_token = sealed()
    settings.KEY_TOKEN = None
    in_file = sealed()
    for secret, used in ((in_token, None), (in_file, token.address)):
        settings.KEY_TOKEN = used
        for call in (
            lambda sealed=secret: secret_unseal(sealed, **NAMED),
            lambda sealed=secret: erase(sealed),
        ):
            with pytest.raises(OtherKeyServiceError, match="PANAPP_KEY_SERVICE must be"):
                call()
        old_keys_erase()
        assert keys_lost() == (1, 2)
    assert ErasableKey.objects.count() == 2
    assert secret_unseal(in_token, **NAMED) == SECRET
    settings.KEY_TOKEN = None
    assert secret_unseal(in_file, **NAMED) == SECRET


class Host:
    """A process that shares the database, the key-encryption key and the token, and no directory."""

    def __init__(self, folder: Path, token: SoftToken) -> None:
        folder.mkdir()
        shutil.copy(installation.DATA_DIR / "local-secrets.json", folder)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.collections.storage.key_host"],
            cwd=ROOT,
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "panapp.settings",
                "PYTHONPATH": f"{ROOT}:{ROOT / 'collections'}",
                "DATABASE_URL": database_url(),
                "PANAPP_DATA_DIR": str(folder),
                "PANAPP_KEY_SERVICE": token.uri,
                "PANAPP_KEY_SERVICE_PIN": PIN,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.answer() == "ready"

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, action: str, secret: str = "") -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{action} {secret}\n")
        self.process.stdin.flush()
        return self.answer()


@pytest.fixture
def host(tmp_path: Path, token: SoftToken) -> Iterator[Callable[[str], Host]]:
    hosts = []

    def start(name: str) -> Host:
        hosts.append(Host(tmp_path / name, token))
        return hosts[-1]

    yield start
    for each in hosts:
        each.process.kill()
        each.process.communicate()


def test_one_host_seals_another_opens_one_erases_and_no_other_opens(host: Callable[[str], Host]) -> None:
    first, second = host("first"), host("second")
    secret, kept = first.ask("seal"), second.ask("seal")
    for each in (first, second):
        assert [each.ask("open", sealed) for sealed in (secret, kept)] == [SECRET.decode()] * 2
    second.ask("erase", secret)
    for each in (first, second):
        assert each.ask("open", secret) == "KeyErasedError"
        assert each.ask("open", kept) == SECRET.decode()
    assert secret_unseal(bytes.fromhex(kept), **NAMED) == SECRET


def test_host_that_dies_before_the_commit_leaves_a_key_that_upkeep_erases(
    host: Callable[[str], Host],
) -> None:
    dying = host("dying")
    kept = dying.ask("seal")
    assert dying.ask("die") == ""
    assert dying.process.wait(PATIENCE) == 9
    assert (keys(), ErasableKey.objects.count()) == (2, 1)
    old_keys_erase()
    assert keys() == 1
    assert host("another").ask("open", kept) == SECRET.decode()
