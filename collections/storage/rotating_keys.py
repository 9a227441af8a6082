"""Key pairs to which others seal: made, handed out, retired, deleted. Each package keeps its own in a table.

There is a key of each KEM. It is handed out until the next one of its KEM is made. From then on it only opens
what was sealed to it until then, for a grace period, and then it is deleted for good.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Q

from panprivacy.protocols.hpke import KemName
from storage.erasable_keys import KeyErasedError
from storage.sealing import secret_erase, secret_seal, secret_unseal, secrets_delete

CONFIG_IDS = 256
"""Numbers that keys can have: they travel in one byte."""


class NoKeyError(ValueError):
    """No key, or none any more, has this number; or no number is free."""


class RotatingKey(models.Model):
    """A key pair. The newest of each KEM that is not retired is handed out."""

    config_id = models.PositiveSmallIntegerField(unique=True, help_text="0 to 255.")
    kem = models.CharField(max_length=10, choices=[(kem.value, kem.value) for kem in KemName])
    config = models.BinaryField(help_text="What is handed out, encoded.")
    sealed = models.BinaryField(help_text="Private key, under the key-encryption key.")
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"key {self.config_id}"


Key = TypeVar("Key", bound=RotatingKey)


@dataclass(frozen=True)
class KeyRing(Generic[Key]):
    """The keys of one table.

    Attributes:
        model: the table.
        kind: of the sealed secrets, as `sealing` wants it.
        make: a fresh key of the given KEM and number, from a source of randomness: what is handed out, and
            the private key.
        announce: is called in the transaction that makes a key, with its number, the SHA-256 of what is
            handed out, and the numbers of the keys that it retires: packages above decide whom to notify.
    """

    model: type[Key]
    kind: bytes
    make: Callable[[KemName, int, secrets.SystemRandom], tuple[bytes, bytes]]
    announce: Callable[[int, str, list[int]], object]

    def rotate(self, *, now: datetime) -> list[Key]:
        """Make a key pair of each KEM, hand them out, and retire the previous ones.

        Two that rotate at once make one key of each KEM between them.

        Raises:
            NoKeyError: all numbers are in use.
        """
        return self._rotated(now, first=False)

    @transaction.atomic
    def _rotated(self, now: datetime, *, first: bool) -> list[Key]:
        """`first`: make only keys of KEMs that hand out none."""
        keys = list(self._keys().select_for_update().order_by("-created_at", "-pk"))
        current = {key.kem for key in keys if key.retired_at is None} if first else set()
        # A process that rotates at the same time computes the same numbers, and only one of two keys of a
        # number is stored.
        free = _free_numbers(keys)
        made = []
        for kem in (kem for kem in KemName if kem not in current):
            config_id = next(free, None)
            if config_id is None:
                raise NoKeyError(
                    "all 256 configuration identifiers are in use; wait for a grace period to end"
                )
            config, private_key = self.make(kem, config_id, secrets.SystemRandom())
            sealed = secret_seal(private_key, kind=self.kind, owner=config)
            made.append(
                self.model(config_id=config_id, kem=kem, config=config, sealed=sealed, created_at=now)
            )
        self._keys().bulk_create(made, ignore_conflicts=True)
        return [self._stored(key, now) for key in made]

    def _stored(self, key: Key, now: datetime) -> Key:
        """The key of this number, the others of its KEM retired."""
        config = bytes(key.config)
        before = self._keys().filter(kem=key.kem, retired_at=None).exclude(config_id=key.config_id)
        retired = list(before.order_by("config_id").values_list("config_id", flat=True))
        before.update(retired_at=now)
        stored = self._keys().get(config_id=key.config_id)
        if bytes(stored.config) != config:
            # The process that made the stored one has announced it.
            secret_erase(key.sealed)
        else:
            self.announce(key.config_id, hashlib.sha256(config).hexdigest(), retired)
        return stored

    def expire(self, *, now: datetime, needed: frozenset[int] = frozenset()) -> int:
        """Delete private keys whose grace period is over; the number of them.

        Args:
            needed: numbers of keys to which something is sealed that waits to be opened.
        """
        over = self._keys().filter(retired_at__lte=now - grace()).exclude(config_id__in=needed)
        return secrets_delete(over, "sealed")

    def handed_out(self, *, now: datetime) -> list[bytes]:
        """Configurations to hand out, in the order of `KemName`; the first keys are made when they are first
        asked for."""
        current = self._current()
        if set(KemName) - current.keys():
            # A process with a simultaneous request may have made them, and one of each is enough.
            self._rotated(now, first=True)
            current = self._current()
        return [bytes(current[kem].config) for kem in KemName if kem in current]

    def private_key(self, config_id: int) -> tuple[bytes, bytes]:
        """A key that is kept: what was handed out, and the private key.

        Also one whose grace period is over opens until `expire` deletes it: what was taken in time must not
        be lost because it waited.

        Raises:
            NoKeyError: unknown, or deleted.
        """
        key = self._keys().filter(config_id=config_id).first()
        if key is None:
            raise NoKeyError(f"no key has the configuration identifier {config_id}")
        config = bytes(key.config)
        try:
            return config, secret_unseal(key.sealed, kind=self.kind, owner=config)
        except KeyErasedError as error:
            raise NoKeyError(f"the key with the configuration identifier {config_id} is deleted") from error

    def usable_ids(self, *, now: datetime) -> set[int]:
        """Numbers of the keys to which arriving messages may be sealed."""
        keys = self._keys().filter(Q(retired_at=None) | Q(retired_at__gt=now - grace()))
        return set(keys.values_list("config_id", flat=True))

    def known(self) -> list[Key]:
        """All keys that are kept, those handed out first."""
        return list(self._keys().order_by(F("retired_at").desc(nulls_first=True), "-created_at", "-pk"))

    def _current(self) -> dict[str, Key]:
        """By its KEM the newest key that is not retired."""
        return {key.kem: key for key in self._keys().filter(retired_at=None).order_by("created_at", "pk")}

    def _keys(self) -> models.QuerySet[Key]:
        return self.model._default_manager.all()


def _free_numbers(keys: Sequence[RotatingKey]) -> Iterator[int]:
    """Unused numbers, from the newest key's on.

    Args:
        keys: the newest first.
    """
    taken = {key.config_id for key in keys}
    start = keys[0].config_id + 1 if keys else 1
    numbers = ((start + step) % CONFIG_IDS for step in range(CONFIG_IDS))
    return (number for number in numbers if number not in taken)


def grace() -> timedelta:
    """For how long at least a retired key is kept, and what is sealed to it is taken."""
    return timedelta(seconds=settings.HPKE_GRACE_SECONDS)


def cache_seconds() -> int:
    """For how long a client may go on using what it was handed out: at most half the grace period (DAP 18,
    section 4.3.1), so that a client that read it just before a rotation still finds its key."""
    return min(86_400, settings.HPKE_GRACE_SECONDS // 2)
