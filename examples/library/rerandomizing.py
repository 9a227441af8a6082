"""Ciphertexts that change without being read: rerandomized, added up, and decrypted as a sum."""

import secrets

from panprivacy.encryption import generate_private_key

source = secrets.SystemRandom()
key = generate_private_key("elgamal-secp256k1", source)
public = key.public_key

first = public.encrypt(20, source)
again = public.rerandomize(first, source)  # the same number, unlinkable without the private key
assert bytes(first) != bytes(again)

total = public.add([again, public.encrypt(22, source)])
print(key.decrypt(total, range(100)))
