"""The kinds of secrets that an aggregator keeps sealed, and the private keys of pan-private shares."""

from panprivacy.encryption import load_private_key
from panprivacy.encryption.interface import PrivateKey
from storage.sealing import secret_seal, secret_unseal

HPKE_KEY = b"dap hpke key\n"
VERIFY_KEY = b"dap verification key\n"
SHARE_KEY = b"dap share key\n"
PEER_TOKEN = b"dap peer token\n"


def share_key_seal(key: PrivateKey, *, owner: bytes) -> bytes:
    """A private key of pan-private shares, with the name of its scheme."""
    scheme = key.public_key.scheme.encode()
    return secret_seal(scheme + b"\n" + key.to_bytes(), kind=SHARE_KEY, owner=owner)


def share_key_unseal(sealed: bytes | memoryview, *, owner: bytes) -> PrivateKey:
    """Inverse of `share_key_seal`."""
    scheme, _, encoded = secret_unseal(sealed, kind=SHARE_KEY, owner=owner).partition(b"\n")
    return load_private_key(scheme.decode(), encoded)
