"""Keys to which clients seal: handed out, retired, deleted."""

import secrets
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command

from dap.hpke_keys import HPKE_KEYS, hpke_config_list, hpke_private_key
from dap.models import HpkeKey
from panprivacy.encryption.sealing import SealBrokenError
from panprivacy.protocols.dap.hpke import choose_config, open_, seal, suite_of
from panprivacy.protocols.hpke import KemName
from storage import rotating_keys
from storage.rotating_keys import NoKeyError, cache_seconds
from tests.concurrency import at_once

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.django_db
class TestRotation:
    def test_key_that_is_handed_out_is_made_once_and_never_expires(self) -> None:
        first = hpke_config_list(now=NOW)
        assert [suite_of(config).kem_name for config in first.configs] == list(KemName)
        later = NOW + timedelta(days=9_999)
        assert HPKE_KEYS.expire(now=later) == 0
        assert hpke_config_list(now=later) == first

    @pytest.mark.parametrize("kem", KemName)
    def test_old_key_opens_until_the_second_its_grace_period_ends(self, settings: Any, kem: KemName) -> None:
        old = choose_config(hpke_config_list(now=NOW), kem)
        sealed = seal(old, b"info", b"aad", b"plaintext", secrets.SystemRandom())
        HPKE_KEYS.rotate(now=NOW)
        new = choose_config(hpke_config_list(now=NOW), kem)
        assert new.id != old.id
        end = NOW + timedelta(seconds=settings.HPKE_GRACE_SECONDS)
        before = end - timedelta(seconds=1)
        assert old.id in HPKE_KEYS.usable_ids(now=before)
        assert HPKE_KEYS.expire(now=before) == 0
        config, private_key = hpke_private_key(config_id=old.id)
        assert open_(config, private_key, sealed, b"info", b"aad") == b"plaintext"
        assert old.id not in HPKE_KEYS.usable_ids(now=end)
        assert HPKE_KEYS.expire(now=end) == 2
        with pytest.raises(NoKeyError):
            hpke_private_key(config_id=old.id)

    def test_key_that_something_waits_for_does_not_expire_and_opens_it(self) -> None:
        old, _ = hpke_config_list(now=NOW).configs
        HPKE_KEYS.rotate(now=NOW)
        later = NOW + timedelta(days=99)
        assert HPKE_KEYS.expire(now=later, needed=frozenset({old.id})) == 1
        assert old.id not in HPKE_KEYS.usable_ids(now=later), "nothing new may be sealed to it"
        assert hpke_private_key(config_id=old.id)[0] == old
        assert HPKE_KEYS.expire(now=later) == 1

    def test_identifiers_go_round_and_pass_over_those_in_use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rotating_keys, "CONFIG_IDS", 16)
        for _ in range(8):
            HPKE_KEYS.rotate(now=NOW)
        assert HpkeKey.objects.count() == 16
        with pytest.raises(NoKeyError, match="256"):
            HPKE_KEYS.rotate(now=NOW)
        HPKE_KEYS.expire(now=NOW + timedelta(days=14))
        assert HpkeKey.objects.count() == 2
        assert [key.config_id for key in HPKE_KEYS.rotate(now=NOW)] == [1, 2]

    @pytest.mark.parametrize("grace", [1, 3_600, 14 * 86_400, 10**9])
    def test_grace_period_is_at_least_twice_the_time_clients_cache(self, settings: Any, grace: int) -> None:
        settings.HPKE_GRACE_SECONDS = grace
        assert 2 * cache_seconds() <= grace

    def test_private_keys_cannot_be_swapped_in_the_database(self) -> None:
        one, two = HPKE_KEYS.rotate(now=NOW)
        HpkeKey.objects.filter(pk=one.pk).update(sealed=two.sealed)
        with pytest.raises(SealBrokenError):
            hpke_private_key(config_id=one.config_id)

    def test_command_rotates_and_lists_and_deletes_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        old, _ = HPKE_KEYS.rotate(now=NOW - timedelta(days=99))
        HPKE_KEYS.rotate(now=NOW - timedelta(days=98))
        call_command("hpke_keys", "rotate")
        assert "Key 5 (x-wing) is handed out from now on" in capsys.readouterr().out
        assert HpkeKey.objects.filter(pk=old.pk).exists()
        call_command("hpke_keys", "list")
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == ["6", "5", "4", "3", "2", "1"]
        assert [line.split()[1] for line in lines[:2]] == ["x25519", "x-wing"]
        assert lines[1].endswith("handed out")
        assert "opens until" in lines[2]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("before", [0, 1])
def test_rotations_at_once_make_one_key_or_one_after_the_other(before: int) -> None:
    for _ in range(before):
        HPKE_KEYS.rotate(now=NOW)
    at_once(*[partial(HPKE_KEYS.rotate, now=NOW + timedelta(hours=1))] * 3)
    assert len(hpke_config_list(now=NOW).configs) == 2
    assert HpkeKey.objects.filter(retired_at=None).count() == 2
