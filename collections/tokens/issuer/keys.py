"""The secret keys of one recipe: made, sealed under a key that can be erased, opened."""

import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime

from panprivacy.protocols.oblivious_prf import evaluation
from panprivacy.protocols.privacy_pass.rsa_keys import MODULUS_BITS, PrivateKey, generate
from partners.issuer_calls import HANDLE_BYTES
from storage.columns import stored_bytes
from storage.sealing import secret_seal, secret_unseal
from tokens.issuer.models import Issuance

KIND = b"issuer recipe keys\n"
HANDLE_KEY_BYTES = 32
PRIME_BYTES = MODULUS_BITS // 16


@dataclass(frozen=True)
class RecipeKeys:
    """What only an issuer knows about a recipe. Secret.

    Attributes:
        token: signs blindly.
        prf: key of the values by which the attester recognizes devices that asked already, 32 bytes.
        handle: names answers, 32 bytes.
    """

    token: PrivateKey
    prf: bytes = field(repr=False)
    handle: bytes = field(repr=False)

    @classmethod
    def generate(cls) -> "RecipeKeys":
        """Fresh keys, from the operating system's randomness."""
        source = secrets.SystemRandom()
        return cls(generate(source), evaluation.new_key(source), secrets.token_bytes(HANDLE_KEY_BYTES))

    def handle_of(self, blinded_message: bytes) -> bytes:
        """The name of an answer: the same for the same blinded message, and random to all other parties."""
        return hmac.digest(self.handle, blinded_message, "sha256")[:HANDLE_BYTES]

    def seal(self) -> bytes:
        """As it is stored in this transaction; its erasable key is on the disk when this returns."""
        primes = (prime.to_bytes(PRIME_BYTES, "big") for prime in (self.token.p, self.token.q))
        content = b"".join((self.prf, self.handle, *primes))
        return secret_seal(content, kind=KIND, owner=self.token.public.encoded)


def _unseal(sealed: bytes, token_key: bytes) -> RecipeKeys:
    content = secret_unseal(sealed, kind=KIND, owner=token_key)
    prf, content = content[: evaluation.KEY_BYTES], content[evaluation.KEY_BYTES :]
    handle, primes = content[:HANDLE_KEY_BYTES], content[HANDLE_KEY_BYTES:]
    p, q = (int.from_bytes(half, "big") for half in (primes[:PRIME_BYTES], primes[PRIME_BYTES:]))
    return RecipeKeys(PrivateKey(p, q), prf, handle)


@dataclass(frozen=True)
class Issuing:
    """A recipe for which tokens are issued, as a process remembers it. Secret.

    Attributes:
        pk: of its row.
        ends_at: when tokens are issued no more.
    """

    pk: int
    ends_at: datetime
    keys: RecipeKeys


_OPENED: dict[str, Issuing] = {}
"""By identifier. Reading the row, and checking two primes anew, would take longer than signing."""


def issuing(identifier: str) -> Issuing | None:
    """A recipe that issues tokens, or did lately: whether it does is asked in the transaction that counts.

    None if it issues none, not yet or not any more.

    Raises:
        KeyErasedError: it ended this moment.
        KeyLostError: the erasable key is not where it should be.
    """
    if identifier not in _OPENED:
        row = Issuance.objects.filter(identifier=identifier, state=Issuance.State.ISSUING).first()
        if row is None:
            return None
        keys = _unseal(stored_bytes(row.sealed), bytes(row.token_key))
        _OPENED[identifier] = Issuing(row.pk, row.ends_at, keys)
    return _OPENED[identifier]


def keys_forget() -> None:
    """Forget, in this process, the keys of what issues no more. It is called wherever one ends, at every
    upkeep, and when a device asks for a token of a recipe that another process ended."""
    rows = Issuance.objects.filter(state=Issuance.State.ISSUING)
    known = set(rows.values_list("identifier", "pk"))
    for identifier, recipe in list(_OPENED.items()):
        if (identifier, recipe.pk) not in known:
            _OPENED.pop(identifier, None)
