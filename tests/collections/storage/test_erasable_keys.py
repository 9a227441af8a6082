"""Every sealed secret has a key of its own next to the database, which comes and goes with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from dap.helper.task_ends import upkeep as helper_upkeep
from panprivacy.encryption.sealing import SealBrokenError, SealFormatError
from storage import erasable_keys
from storage.erasable_keys import KeyErasedError, KeyLostError, keys_lost, old_keys_erase
from storage.key_files import KeyFiles
from storage.key_service import KeyServiceError
from storage.key_slots import KeysNotErasedError
from storage.models import Database, ErasableKey
from storage.sealing import secret_erase, secret_seal, secret_unseal
from storage.tasks import erase_unneeded_keys
from tests.concurrency import in_thread, open_transaction
from tests.patience import PATIENCE

NAMED: dict[str, Any] = {"kind": b"kind\n", "owner": b"owner"}
SECRET = b"a secret"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.ERASABLE_KEYS_DIR = tmp_path / "data" / "keys"
    return settings.ERASABLE_KEYS_DIR


def files(folder: Path) -> int:
    return len(list(folder.iterdir())) if folder.exists() else 0


@transaction.atomic
def sealed() -> bytes:
    return secret_seal(SECRET, **NAMED)


@transaction.atomic
def erase(secret: bytes) -> None:
    secret_erase(secret)


def test_sealed_secret_opens_until_it_is_erased(folder: Path) -> None:
    secret = sealed()
    assert secret_unseal(secret, **NAMED) == SECRET
    assert files(folder) == ErasableKey.objects.count() == 1
    erase(secret)
    assert files(folder) == ErasableKey.objects.count() == 0
    with pytest.raises(KeyErasedError):
        secret_unseal(secret, **NAMED)
    erase(secret)  # again does nothing


def test_it_takes_both_keys_and_the_names(settings: Any, folder: Path) -> None:
    secret, other = sealed(), sealed()
    for named in ({**NAMED, "owner": b"another"}, {**NAMED, "kind": b"another\n"}):
        with pytest.raises(SealBrokenError):
            secret_unseal(secret, **named)
    with pytest.raises(SealBrokenError):
        # The key's name is another's.
        secret_unseal(secret[:5] + other[5:37] + secret[37:], **NAMED)
    first, second = sorted(folder.iterdir())
    first.rename(folder / "kept")
    second.rename(first)
    outcomes = []
    for each in (secret, other):
        with pytest.raises((SealBrokenError, KeyLostError)) as raised:
            secret_unseal(each, **NAMED)
        outcomes.append(raised.type)
    assert set(outcomes) == {SealBrokenError, KeyLostError}
    settings.KEY_ENCRYPTION_KEY = bytes(32)
    with pytest.raises(SealBrokenError):
        secret_unseal(secret, **NAMED)


@pytest.mark.parametrize("broken", [b"PPSE\x02" + bytes(99), b"PPSE\x01" + bytes(9), b"", b"nothing"])
def test_what_is_no_sealed_secret_is_refused(broken: bytes) -> None:
    with pytest.raises(SealFormatError):
        secret_unseal(broken, **NAMED)


def test_secret_is_sealed_and_erased_in_transactions_only(folder: Path) -> None:
    with pytest.raises(transaction.TransactionManagementError):
        secret_seal(SECRET, **NAMED)
    assert files(folder) == 0
    secret = sealed()
    with pytest.raises(transaction.TransactionManagementError):
        secret_erase(secret)
    assert secret_unseal(secret, **NAMED) == SECRET


def test_key_is_erased_when_the_deletion_is_committed_and_not_before(folder: Path) -> None:
    secret = sealed()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        secret_erase(secret)
        assert files(folder) == 1
        raise ZeroDivisionError
    old_keys_erase()
    assert secret_unseal(secret, **NAMED) == SECRET


@pytest.mark.parametrize(
    "upkeep", [erase_unneeded_keys, lambda: helper_upkeep(now=timezone.now())], ids=["workers", "helper"]
)
def test_key_of_a_rolled_back_transaction_is_erased_later(upkeep: Callable[[], None], folder: Path) -> None:
    kept = sealed()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        secret_seal(SECRET, **NAMED)
        raise ZeroDivisionError
    assert files(folder) == 2
    upkeep()
    assert files(folder) == 1
    assert secret_unseal(kept, **NAMED) == SECRET


def test_key_that_a_crash_left_is_erased_by_upkeep(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, secret = sealed(), sealed()
    with monkeypatch.context() as crashing:
        crashing.setattr(erasable_keys, "_erase", lambda name: None)
        erase(secret)
    (row,) = ErasableKey.objects.all()
    (left,) = [path for path in folder.iterdir() if row.id.hex not in path.name]
    old_keys_erase()
    assert not left.exists()
    assert secret_unseal(kept, **NAMED) == SECRET


def test_key_that_cannot_be_erased_at_the_commit_is_left_to_upkeep(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction is committed: it must not fail, and what is to follow it must run."""
    secret, followed = sealed(), []

    def fail(*_: object) -> None:
        raise KeyServiceError

    with monkeypatch.context() as failing:
        failing.setattr(KeyFiles, "erase", fail)
        with transaction.atomic():
            secret_erase(secret)
            transaction.on_commit(lambda: followed.append(True))
    assert (followed, files(folder)) == ([True], 1)
    old_keys_erase()
    assert files(folder) == 0


def test_upkeep_that_meets_a_broken_file_erases_all_others_and_fails(folder: Path) -> None:
    ours = Database.objects.get().id.hex
    sealed()
    broken, other = (folder / f"{ours}-{digit * 32}.key" for digit in "1f")
    broken.mkdir()
    other.write_bytes(bytes(8192))
    with pytest.raises(KeysNotErasedError, match="1 of 2"):
        old_keys_erase()
    assert not other.exists()
    broken.rmdir()
    old_keys_erase()
    assert files(folder) == 1


def test_upkeep_on_another_database_erases_nothing(folder: Path) -> None:
    """One that was made anew, say, while a backup is being restored."""
    secret = sealed()
    ErasableKey.objects.all().delete()
    ours = Database.objects.get()
    Database.objects.all().delete()
    Database.objects.create()
    try:
        old_keys_erase()
        assert files(folder) == 1
    finally:
        Database.objects.all().delete()
        ours.save()
    assert secret_unseal(secret, **NAMED) == SECRET
    old_keys_erase()
    assert files(folder) == 0


@pytest.mark.parametrize("commits", [True, False])
def test_upkeep_waits_for_a_transaction_that_may_still_commit(commits: bool, folder: Path) -> None:
    stored: list[bytes] = []

    def publish() -> None:
        stored.append(secret_seal(SECRET, **NAMED))
        transaction.set_rollback(not commits)

    with open_transaction(publish):
        assert files(folder) == 1
        upkeep = in_thread(old_keys_erase)
        upkeep.join(0.5)
        assert upkeep.is_alive()
        assert files(folder) == 1
    upkeep.join(PATIENCE)
    assert files(folder) == int(commits)
    if commits:
        assert secret_unseal(stored[0], **NAMED) == SECRET


def test_lost_keys_are_counted(folder: Path) -> None:
    assert keys_lost() == (0, 0)
    secret = sealed()
    sealed()
    assert keys_lost() == (0, 2)
    for path in folder.iterdir():
        path.unlink()
    assert keys_lost() == (2, 2)
    with pytest.raises(KeyLostError, match=f"is not in {folder}"):
        secret_unseal(secret, **NAMED)
