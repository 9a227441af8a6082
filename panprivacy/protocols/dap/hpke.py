"""Shares sealed with HPKE (RFC 9180, base mode, single shot), bound to everything around them.

The info string names draft, sender and recipient. The associated data is the task with its whole
configuration and what the share belongs to (DAP draft 18, sections 4.4.2 and 4.6.7). A share opens only if
both are unchanged since it was sealed.
"""

import random
from functools import cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, PyHPKEError

from panprivacy.protocols.dap.basics import VERSION, HpkeCiphertext, HpkeConfig, Role
from panprivacy.protocols.dap.collection import AggregateShareAad
from panprivacy.protocols.dap.upload import HpkeConfigList, InputShareAad, PlaintextInputShare
from panprivacy.protocols.dap.x25519_aes128 import AEAD_ID, KDF_ID, KEM_ID, X25519Aes128Key

PRIVATE_KEY_BYTES = 32
_SEED_BYTES = 66
"""As many as the largest private key of any KEM has: enough entropy for each (RFC 9180, section 7.1.3)."""

Suite = tuple[int, int, int]

X25519_AES128: Suite = (KEM_ID, KDF_ID, AEAD_ID)
"""The algorithms that every participant must support, and those of our own keys."""


class HpkeError(ValueError):
    """Sealing or opening did not work."""


class HpkeSealError(HpkeError):
    """A configuration to which nothing can be sealed: unknown algorithms, or a public key that is none."""


class HpkeOpenError(HpkeError):
    """The ciphertext does not open: altered, for another recipient, or bound to something else."""


def generate_keypair(config_id: int, random_source: random.Random) -> tuple[HpkeConfig, bytes]:
    """A fresh key pair of `X25519_AES128`: its public configuration, and the private key (32 bytes).

    Args:
        config_id: 0 to 255; names the key in ciphertexts.
        random_source: `secrets.SystemRandom()`.
    """
    private_key = random_source.randbytes(PRIVATE_KEY_BYTES)
    public_key = X25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw()
    return HpkeConfig(config_id, *X25519_AES128, public_key), private_key


def choose_config(configs: HpkeConfigList) -> HpkeConfig:
    """The first configuration whose algorithms are supported; HpkeSealError if there is none."""
    for config in configs.configs:
        try:
            _suite(*_numbers(config))
        except HpkeSealError:
            continue
        return config
    raise HpkeSealError("none of the HPKE configurations has supported algorithms")


def seal(
    config: HpkeConfig, info: bytes, aad: bytes, plaintext: bytes, random_source: random.Random
) -> HpkeCiphertext:
    """Encrypt to the holder of `config`'s private key.

    Args:
        config: of any algorithms that pyhpke has.
        info: the purpose of the ciphertext.
        aad: the data that it is bound to.
        random_source: `secrets.SystemRandom()`; the ephemeral key comes from it.

    Raises:
        HpkeSealError: unknown algorithms, or no valid public key.
    """
    suite = _suite(*_numbers(config))
    try:
        ephemeral = suite.kem.derive_key_pair(random_source.randbytes(_SEED_BYTES))
        recipient = suite.kem.deserialize_public_key(config.public_key)
        enc, context = suite.create_sender_context(recipient, info, eks=ephemeral)
        payload = context.seal(plaintext, aad)
    except (PyHPKEError, ValueError) as error:
        raise HpkeSealError(f"nothing can be sealed to HPKE configuration {config.id}") from error
    return HpkeCiphertext(config.id, enc, payload)


class Recipient:
    """The holder of a private key, loaded once for all that is opened with it: loading takes as long as
    opening does. Keep one for a batch at most, because keys are replaced and erased.

    Args:
        config: the public configuration.
        private_key: of `config`, from `generate_keypair`.
    """

    def __init__(self, config: HpkeConfig, private_key: bytes) -> None:
        self._config_id = config.id
        numbers = _numbers(config)
        self._key: X25519Aes128Key | _LibraryKey = (
            X25519Aes128Key(private_key)
            if numbers == X25519_AES128
            else _LibraryKey(_suite(*numbers), private_key)
        )

    def open(self, ciphertext: HpkeCiphertext, info: bytes, aad: bytes) -> bytes:
        """Inverse of `seal`; HpkeOpenError if it does not open."""
        if ciphertext.config_id != self._config_id:
            raise HpkeOpenError(f"sealed to HPKE configuration {ciphertext.config_id}, not {self._config_id}")
        try:
            return self._key.open(ciphertext.enc, ciphertext.payload, info, aad)
        except (InvalidTag, PyHPKEError, ValueError) as error:
            raise HpkeOpenError("the ciphertext does not open") from error


class _LibraryKey:
    """A private key of any other suite, e.g. one that a collector chose."""

    def __init__(self, suite: CipherSuite, private_key: bytes) -> None:
        self._suite = suite
        self._key = suite.kem.deserialize_private_key(private_key)

    def open(self, enc: bytes, ciphertext: bytes, info: bytes, aad: bytes) -> bytes:
        return self._suite.create_recipient_context(enc, self._key, info).open(ciphertext, aad)


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


def _numbers(config: HpkeConfig) -> Suite:
    return config.kem_id, config.kdf_id, config.aead_id


@cache
def _suite(kem_id: int, kdf_id: int, aead_id: int) -> CipherSuite:
    if aead_id == AEADId.EXPORT_ONLY.value:
        raise HpkeSealError("this HPKE configuration encrypts nothing")
    try:
        return CipherSuite.new(KEMId(kem_id), KDFId(kdf_id), AEADId(aead_id))
    except ValueError:
        raise HpkeSealError(f"unknown HPKE algorithms {kem_id}, {kdf_id}, {aead_id}") from None
