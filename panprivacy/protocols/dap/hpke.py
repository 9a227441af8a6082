"""Shares sealed with HPKE (RFC 9180, base mode, single shot), bound to everything around them.

The info string names draft, sender and recipient. The associated data is the task with its whole
configuration and what the share belongs to (DAP draft 18, sections 4.4.2 and 4.6.7). A share opens only if
both are unchanged since it was sealed.
"""

import random

from panprivacy.protocols import hpke
from panprivacy.protocols.dap.basics import VERSION, HpkeCiphertext, HpkeConfig, Role
from panprivacy.protocols.dap.collection import AggregateShareAad
from panprivacy.protocols.dap.upload import HpkeConfigList, InputShareAad, PlaintextInputShare
from panprivacy.protocols.hpke import (
    AES_128_GCM,
    HKDF_SHA256,
    KEMS,
    PRIVATE_KEY_BYTES,
    HpkeOpenError,
    HpkeSealError,
    KemName,
    PrivateKey,
    Suite,
    public_key_of,
)


def generate_keypair(
    config_id: int, random_source: random.Random, kem: KemName = KemName.X_WING
) -> tuple[HpkeConfig, bytes]:
    """A fresh key pair for HKDF-SHA256 and AES-128-GCM: its public configuration, and the private key (32
    bytes).

    Args:
        config_id: 0 to 255; names the key in ciphertexts.
        random_source: `secrets.SystemRandom()`.
        kem: X25519 is what DAP requires of every participant.
    """
    private_key = random_source.randbytes(PRIVATE_KEY_BYTES)
    chosen = KEMS[kem]
    config = HpkeConfig(
        config_id, chosen.number, HKDF_SHA256, AES_128_GCM, public_key_of(chosen, private_key)
    )
    return config, private_key


def choose_config(configs: HpkeConfigList, kem: KemName | None = None) -> HpkeConfig:
    """The first configuration of a KEM whose algorithms are supported; HpkeSealError if there is none.

    Args:
        kem: the recipe's; None for any.
    """
    for config in configs.configs:
        if suite_of(config).is_known and kem in (None, suite_of(config).kem_name):
            return config
    raise HpkeSealError(
        f"none of the HPKE configurations has supported algorithms{f' with {kem}' if kem else ''}"
    )


def suite_of(config: HpkeConfig) -> Suite:
    """The algorithms of a configuration."""
    return Suite(config.kem_id, config.kdf_id, config.aead_id)


def seal(
    config: HpkeConfig, info: bytes, aad: bytes, plaintext: bytes, random_source: random.Random
) -> HpkeCiphertext:
    """Encrypt to the holder of `config`'s private key; arguments and errors as of `hpke.seal`."""
    enc, payload, _ = hpke.seal(suite_of(config), config.public_key, info, aad, plaintext, random_source)
    return HpkeCiphertext(config.id, enc, payload)


class Recipient:
    """The holder of a private key, loaded once for all that is opened with it: loading takes as long as
    opening does. Keep one for a batch at most, because keys are replaced and erased.

    Args:
        config: the public configuration.
        private_key: of `config`, from `generate_keypair`.

    Raises:
        HpkeOpenError: a key of unknown algorithms, or none.
    """

    def __init__(self, config: HpkeConfig, private_key: bytes) -> None:
        self._config_id = config.id
        self._key = PrivateKey(suite_of(config), private_key)

    def open(self, ciphertext: HpkeCiphertext, info: bytes, aad: bytes) -> bytes:
        """Inverse of `seal`; HpkeOpenError if it does not open."""
        if ciphertext.config_id != self._config_id:
            raise HpkeOpenError(f"sealed to HPKE configuration {ciphertext.config_id}, not {self._config_id}")
        return self._key.open(ciphertext.enc, ciphertext.payload, info, aad)[0]


def open_(
    config: HpkeConfig, private_key: bytes, ciphertext: HpkeCiphertext, info: bytes, aad: bytes
) -> bytes:
    """Open a single ciphertext, like `Recipient`."""
    return Recipient(config, private_key).open(ciphertext, info, aad)


def seal_input_share(
    config: HpkeConfig,
    role: Role,
    aad: InputShareAad,
    share: PlaintextInputShare,
    random_source: random.Random,
) -> HpkeCiphertext:
    """A client's input share for the aggregator `role`; raises as `seal` does."""
    return seal(config, _input_share_info(role), aad.encode(), share.encode(), random_source)


def open_input_share(
    recipient: Recipient, role: Role, aad: InputShareAad, ciphertext: HpkeCiphertext
) -> PlaintextInputShare:
    """Open what a client sealed to the aggregator `role`.

    Args:
        recipient: one for a whole batch of shares.
        aad: rebuilt from the aggregator's own data of the task and from the report.

    Raises:
        HpkeOpenError: it does not open: DAP's `hpke_decrypt_error`.
        InvalidMessageError: the plaintext is no PlaintextInputShare: DAP's `invalid_message`.
    """
    opened = recipient.open(ciphertext, _input_share_info(role), aad.encode())
    return PlaintextInputShare.decode(opened)


def seal_aggregate_share(
    config: HpkeConfig, role: Role, aad: AggregateShareAad, share: bytes, random_source: random.Random
) -> HpkeCiphertext:
    """The aggregate share of the aggregator `role`, for the collector; raises as `seal` does."""
    return seal(config, _aggregate_share_info(role), aad.encode(), share, random_source)


def open_aggregate_share(
    config: HpkeConfig, private_key: bytes, role: Role, aad: AggregateShareAad, ciphertext: HpkeCiphertext
) -> bytes:
    """Open what the aggregator `role` sealed to the collector; HpkeOpenError if it does not open."""
    return open_(config, private_key, ciphertext, _aggregate_share_info(role), aad.encode())


def _input_share_info(recipient: Role) -> bytes:
    return VERSION + b" input share" + bytes((Role.CLIENT, recipient))


def _aggregate_share_info(sender: Role) -> bytes:
    return VERSION + b" aggregate share" + bytes((sender, Role.COLLECTOR))
