"""A server adds up encrypted numbers without reading them, under Paillier: install `panprivacy[paillier]`."""

import secrets

from panprivacy.encryption import generate_private_key

source = secrets.SystemRandom()
key = generate_private_key("paillier-2048", source)
numbers = [30_000, 0, 50_000, 2]
ciphertexts = [key.public_key.encrypt(number, source) for number in numbers]
total = key.public_key.add(ciphertexts)
print(key.decrypt(total, range(1_000_000)))
