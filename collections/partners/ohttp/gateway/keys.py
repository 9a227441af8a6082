"""The key pairs to which devices seal requests."""

import random
from collections.abc import Iterator, Mapping
from datetime import datetime

from log.audit.operations import key_introduced
from panprivacy.protocols.hpke import KemName
from panprivacy.protocols.oblivious_http import keys
from panprivacy.protocols.oblivious_http.keys import KeyConfig
from partners.ohttp.gateway.actions import KEY_INTRODUCED
from partners.ohttp.gateway.models import GatewayKey
from storage.rotating_keys import KeyRing, NoKeyError


def _make(kem: KemName, config_id: int, random_source: random.Random) -> tuple[bytes, bytes]:
    config, private_key = keys.generate(config_id, random_source, kem)
    return config.encode(), private_key


# Nothing that is sealed to a key waits: `expire` needs to keep none beyond its grace period.
GATEWAY_KEYS = KeyRing(
    model=GatewayKey, kind=b"oblivious http key\n", make=_make, announce=key_introduced(KEY_INTRODUCED)
)


def key_list(*, now: datetime) -> bytes:
    """`application/ohttp-keys`: what clients are handed out; the first keys are made when asked for."""
    return keys.encode_list(tuple(map(KeyConfig.decode, GATEWAY_KEYS.handed_out(now=now))))


class PrivateKeys(Mapping[int, tuple[KeyConfig, bytes]]):
    """What was published and the private key, by their numbers; each is read when it is asked for."""

    def __getitem__(self, config_id: int) -> tuple[KeyConfig, bytes]:
        try:
            config, private_key = GATEWAY_KEYS.private_key(config_id)
            return KeyConfig.decode(config), private_key
        except NoKeyError:
            raise KeyError(config_id) from None

    def __iter__(self) -> Iterator[int]:
        return iter([key.config_id for key in GATEWAY_KEYS.known()])

    def __len__(self) -> int:
        return len(GATEWAY_KEYS.known())
