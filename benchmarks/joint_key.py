"""What a bit under a joint key costs device, servers and verifier, beside an ElGamal bit in the same run.

Run from the repository's root: `python -m benchmarks.joint_key [--reports N]`. No process starts and no
database is used. It prints milliseconds of processor time on one core. Exits with 1 if a step takes more than
15 ms, or decoding and verifying a report in a batch of N (default 1,000) more than 3 ms.
"""

import argparse
import secrets
import sys
import time
from collections.abc import Callable

from panprivacy.encryption.elgamal import ElGamalPrivateKey
from panprivacy.protocols.joint_key import keys, sums
from panprivacy.protocols.joint_key.proven_bits import ProvenBit, all_hold, fresh, rerandomized

MOST_STEP, MOST_VERIFICATION = 15.0, 3.0
SOURCE = secrets.SystemRandom()


def milliseconds(work: Callable[[], object], times: int) -> float:
    """Processor time of one call, the least of three rounds."""
    rounds = []
    for _ in range(3):
        started = time.process_time()
        for _ in range(times):
            work()
        rounds.append((time.process_time() - started) / times * 1e3)
    return min(rounds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=1_000)
    reports = parser.parse_args().reports
    halves = [keys.key_half(context, SOURCE) for context in (b"leader", b"helper")]
    public = [half for half, _ in halves]
    u1, v1 = keys.key_bases(public)
    strings = [keys.string_half(context, u1, v1, SOURCE) for context in (b"leader", b"helper")]
    key = keys.JointKey.of(public, strings)
    state = fresh(key, 0, SOURCE)
    encoded = [bytes(fresh(key, number % 2, SOURCE)) for number in range(reports)]
    decoded = [ProvenBit.decode(each) for each in encoded]
    total = sums.ciphertext_sum(bit.c for bit in decoded)
    parts = [sums.DecryptionPart.made(b"", total, secret, SOURCE) for _, secret in halves]
    # A step computes both, and keeps one.
    step = milliseconds(lambda: (rerandomized(key, state, SOURCE), fresh(key, 1, SOURCE)), 20)
    decode = milliseconds(lambda: [ProvenBit.decode(each) for each in encoded], 1) / reports
    verify = milliseconds(lambda: all_hold(key, decoded, SOURCE), 1) / reports
    count = milliseconds(lambda: sums.count_of(total, parts, reports), 1) / reports
    elgamal = ElGamalPrivateKey.generate(SOURCE).public_key
    old = elgamal.encrypt(0, SOURCE)
    single = milliseconds(lambda: (elgamal.rerandomize(old, SOURCE), elgamal.encrypt(1, SOURCE)), 200)
    print(f"device: step {step:.1f} ms, {step / single:.0f} times an ElGamal bit; {len(encoded[0])} bytes")
    print(f"verifier: {decode + verify:.2f} ms a report: decoding {decode:.2f}, proofs {verify:.2f}")
    print(f"servers: {count * 1e3:.1f} µs a report for the count")
    return int(step > MOST_STEP or decode + verify > MOST_VERIFICATION)


if __name__ == "__main__":
    sys.exit(main())
