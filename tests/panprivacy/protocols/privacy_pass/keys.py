"""Keys that are the same in every run; made once for each process."""

import random
from functools import cache

from panprivacy.protocols.privacy_pass import rsa_keys
from panprivacy.protocols.privacy_pass.rsa_keys import PrivateKey


@cache
def seeded_key(seed: int = 0, bits: int = rsa_keys.MODULUS_BITS) -> PrivateKey:
    return rsa_keys.generate(random.Random(seed), bits)
