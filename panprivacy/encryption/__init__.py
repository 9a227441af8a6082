"""Rerandomizable public-key encryption: one interface, one file per scheme; this is the registry.

A new scheme is one file, one line of `SCHEMES` and one test module; its classes hold every fact about it.
`interface` has the base classes and errors, `sealing` encrypts private keys for storage. The package does not
depend on recipes, statistics or reports.
"""

import random
from collections.abc import Mapping

from panprivacy.encryption.interface import PrivateKey, SchemeKey
from panprivacy.formats.errors import FieldError
from panprivacy.formats.registry import Registry

__all__ = [
    "DEFAULT_SCHEME",
    "SCHEMES",
    "generate_private_key",
    "load_private_key",
    "load_public_key",
    "require_fresh",
    "require_scheme",
    "scheme_of_code",
]

DEFAULT_SCHEME = "elgamal-secp256k1"


SCHEMES: Registry[type[PrivateKey]] = Registry(
    __name__,
    {
        DEFAULT_SCHEME: "elgamal:ElGamalPrivateKey",
        "paillier-2048": "paillier:Paillier2048PrivateKey",
        "paillier-3072": "paillier:Paillier3072PrivateKey",
    },
)
"""Registered name → private key class; its `public_key_class` is the other half.

A scheme's libraries load at its first use: without Paillier neither gmpy2 nor phe (GPLv3) is needed.
"""


def require_scheme(name: object) -> str:
    """`name` if a scheme is registered under it, otherwise FieldError. Loads no library."""
    if not isinstance(name, str) or name not in SCHEMES:
        raise FieldError("encryption", f"must be one of {', '.join(SCHEMES)}, not {name!r}")
    return name


def require_fresh(name: str) -> None:
    """FieldError unless the rerandomized ciphertexts of a registered scheme are as fresh ones."""
    if not SCHEMES[name].public_key_class.rerandomized_is_fresh:
        raise FieldError("encryption", f"must be {DEFAULT_SCHEME}: this statistic adds up ciphertexts")


def scheme_of_code(code: int) -> str:
    """The registered name of the scheme whose public keys have this `code`.

    Searches the registry in its order and loads no scheme beyond the one it finds.

    Raises:
        FieldError: no scheme that can run here has this code.
    """
    known = []
    for name in SCHEMES:
        try:
            found = SCHEMES[name].public_key_class.code
        except ImportError:  # a scheme whose libraries are not installed could not run either
            continue
        if found == code:
            return name
        known.append(f"{found} ({name})")
    raise FieldError("scheme", f"must be one of {', '.join(known)}, not {code}")


def _scheme(name: object) -> type[PrivateKey]:
    return SCHEMES[require_scheme(name)]


def generate_private_key(scheme: str, random_source: random.Random) -> PrivateKey:
    """A fresh key pair of a registered scheme; FieldError for an unknown one."""
    return _scheme(scheme).generate(random_source)


def load_public_key(members: Mapping[str, str]) -> SchemeKey:
    """Inverse of `SchemeKey.to_json`, in the flavour for real devices.

    Raises:
        FieldError: `members["scheme"]` is missing or unknown.
        InvalidKeyError: the rest is malformed.
    """
    return _scheme(members.get("scheme")).public_key_class.from_json(members)


def load_private_key(scheme: str, encoded: bytes) -> PrivateKey:
    """Inverse of `PrivateKey.to_bytes`. Raises FieldError (unknown scheme) or InvalidKeyError."""
    return _scheme(scheme).from_bytes(encoded)
