"""Five bits under the joint key of two servers, which decrypt their sum, and no bit. Experimental."""

import secrets

from panprivacy.protocols.joint_key.keys import JointKey, key_bases, key_half, string_half
from panprivacy.protocols.joint_key.proven_bits import ProvenBit, all_hold, fresh, rerandomized
from panprivacy.protocols.joint_key.sums import DecryptionPart, ciphertext_sum, count_of

source = secrets.SystemRandom()
servers = (b"example leader", b"example helper")

# Each server publishes its half of the key, and then of the common strings, with proofs.
halves = [key_half(server, source) for server in servers]
for server, (half, _) in zip(servers, halves, strict=True):
    half.require_proved(server)
u1, v1 = key_bases([half for half, _ in halves])
strings = [string_half(server, u1, v1, source) for server in servers]
for server, string in zip(servers, strings, strict=True):
    string.require_proved(server, u1, v1)
key = JointKey.of([half for half, _ in halves], strings)

# A device changes its state at every step. At an event the state becomes a fresh 1.
states = [fresh(key, 0, source) for _ in range(5)]
states = [rerandomized(key, state, source) for state in states]
states[3] = fresh(key, 1, source)
reports = [bytes(rerandomized(key, state, source)) for state in states]

# Proofs need no secret. Each server decrypts its part of the sum.
received = [ProvenBit.decode(report) for report in reports]
assert all_hold(key, received, source)
total = ciphertext_sum(bit.c for bit in received)
parts = [DecryptionPart.made(b"example sum", total, secret, source) for _, secret in halves]
for part, (half, _) in zip(parts, halves, strict=True):
    part.require_proved(b"example sum", total, half)
print(count_of(total, parts, len(received)))
