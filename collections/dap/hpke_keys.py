"""The key pairs to which clients seal input shares: made, handed out, retired, deleted."""

import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from dap.models import HpkeKey
from dap.secrets_at_rest import HPKE_KEY
from panprivacy.dap.basics import HpkeConfig
from panprivacy.dap.hpke import generate_keypair
from panprivacy.dap.upload import HpkeConfigList
from storage.erasable_keys import KeyErasedError
from storage.sealing import secret_erase, secret_seal, secret_unseal, secrets_delete

CONFIG_IDS = 256


class NoHpkeKeyError(ValueError):
    """No key, or none any more, has this configuration identifier."""


def grace() -> timedelta:
    """For how long at least a retired key is kept, and reports that are sealed to it are taken."""
    return timedelta(seconds=settings.HPKE_GRACE_SECONDS)


def cache_seconds() -> int:
    """For how long a client may go on using what it was handed out: at most half the grace period (DAP
    18, section 4.3.1), so that a client that read just before a rotation still finds its key."""
    return min(86_400, settings.HPKE_GRACE_SECONDS // 2)


@transaction.atomic
def hpke_key_rotate(*, now: datetime) -> HpkeKey:
    """Make a key pair, hand it out from now on, and retire those before it.

    Two that rotate at once make one key between them.
    """
    keys = HpkeKey.objects.select_for_update().order_by("-created_at", "-pk")
    taken = {key.config_id for key in keys}
    newest = next(iter(keys), None)
    # Whoever rotates at the same time computes the same number, and only one of the two keys is stored.
    start = newest.config_id + 1 if newest else 1
    free = [(start + step) % CONFIG_IDS for step in range(CONFIG_IDS)]
    config_id = next((number for number in free if number not in taken), None)
    if config_id is None:
        raise NoHpkeKeyError("all 256 configuration identifiers are in use; wait for a grace period to end")
    config, private_key = generate_keypair(config_id, secrets.SystemRandom())
    encoded = config.encode()
    key = HpkeKey(
        config_id=config_id,
        config=encoded,
        sealed=secret_seal(private_key, kind=HPKE_KEY, owner=encoded),
        created_at=now,
    )
    HpkeKey.objects.bulk_create([key], ignore_conflicts=True)
    HpkeKey.objects.filter(retired_at=None).exclude(config_id=config_id).update(retired_at=now)
    stored = HpkeKey.objects.get(config_id=config_id)
    if bytes(stored.config) != encoded:
        secret_erase(key.sealed)
    return stored


def hpke_keys_expire(*, now: datetime, needed: frozenset[int] = frozenset()) -> int:
    """Delete private keys whose grace period is over; the number of them.

    Args:
        needed: identifiers of configurations to which something is sealed that waits to be opened.
    """
    over = HpkeKey.objects.filter(retired_at__lte=now - grace()).exclude(config_id__in=needed)
    return secrets_delete(over, "sealed")


def hpke_config_list(*, now: datetime) -> HpkeConfigList:
    """What clients are handed out; the first key is made when it is first asked for."""
    keys = _handed_out()
    if not keys:
        with transaction.atomic():
            # Looked at again: who asked at the same moment may have made it, and one is enough.
            if not _handed_out():
                hpke_key_rotate(now=now)
        keys = _handed_out()
    return HpkeConfigList(tuple(HpkeConfig.decode(bytes(key.config)) for key in keys))


def hpke_private_key(*, config_id: int) -> tuple[HpkeConfig, bytes]:
    """A key that is kept: configuration and private key.

    Also one whose grace period is over opens until `hpke_keys_expire` deletes it: a report that was taken in
    time must not be lost because it waited.

    Raises:
        NoHpkeKeyError: unknown, or deleted.
    """
    key = HpkeKey.objects.filter(config_id=config_id).first()
    if key is None:
        raise NoHpkeKeyError(f"no key has the configuration identifier {config_id}")
    config = bytes(key.config)
    try:
        return HpkeConfig.decode(config), secret_unseal(key.sealed, kind=HPKE_KEY, owner=config)
    except KeyErasedError as error:
        raise NoHpkeKeyError(f"the key with the configuration identifier {config_id} is deleted") from error


def _handed_out() -> list[HpkeKey]:
    return list(HpkeKey.objects.filter(retired_at=None).order_by("-created_at", "-pk"))
