"""The key pairs to which clients seal input shares."""

import random
from datetime import datetime

from dap.actions import KEY_INTRODUCED
from dap.models import HpkeKey
from dap.secrets_at_rest import HPKE_KEY
from log.audit.operations import key_introduced
from panprivacy.protocols.dap.basics import HpkeConfig
from panprivacy.protocols.dap.hpke import generate_keypair
from panprivacy.protocols.dap.upload import HpkeConfigList
from panprivacy.protocols.hpke import KemName
from storage.rotating_keys import KeyRing


def _make(kem: KemName, config_id: int, random_source: random.Random) -> tuple[bytes, bytes]:
    config, private_key = generate_keypair(config_id, random_source, kem)
    return config.encode(), private_key


HPKE_KEYS = KeyRing(model=HpkeKey, kind=HPKE_KEY, make=_make, announce=key_introduced(KEY_INTRODUCED))


def hpke_config_list(*, now: datetime) -> HpkeConfigList:
    """What clients are handed out; the first keys are made when they are asked for."""
    return HpkeConfigList(tuple(map(HpkeConfig.decode, HPKE_KEYS.handed_out(now=now))))


def hpke_private_key(*, config_id: int) -> tuple[HpkeConfig, bytes]:
    """A key that is kept: configuration and private key; NoKeyError if it is unknown or deleted."""
    config, private_key = HPKE_KEYS.private_key(config_id)
    return HpkeConfig.decode(config), private_key
