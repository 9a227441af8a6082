"""What sealing and opening cost with X-Wing, as ratios to X25519 in the same run.

Run from the repository's root: `python -m benchmarks.hpke [--messages N]`. No process starts and no database
is used. It prints, for each KEM, microseconds of processor time to load a private key, to seal and to open a
message of 500 bytes, the bytes that sealing adds, and the ratios. Exits with 1 if opening with X-Wing takes
more than 3 times as long as with X25519.
"""

import argparse
import secrets
import sys
import time
from collections.abc import Callable

from panprivacy.protocols import hpke
from panprivacy.protocols.hpke import AES_128_GCM, HKDF_SHA256, KEMS, KemName, PrivateKey, Suite

MOST_RATIO = 3.0
MESSAGE = bytes(500)
INFO, AAD = b"dap-18 input share\x01\x02", bytes(300)


def microseconds(work: Callable[[], object], times: int) -> float:
    """Processor time of one call, the least of five rounds."""
    rounds = []
    for _ in range(5):
        started = time.process_time()
        for _ in range(times):
            work()
        rounds.append((time.process_time() - started) / times * 1e6)
    return min(rounds)


def measured(name: KemName, times: int) -> dict[str, float]:
    suite, source = Suite(KEMS[name].number, HKDF_SHA256, AES_128_GCM), secrets.SystemRandom()
    private_key = source.randbytes(hpke.PRIVATE_KEY_BYTES)
    key = PrivateKey(suite, private_key)
    enc, ciphertext, _ = hpke.seal(suite, key.public_key, INFO, AAD, MESSAGE, source)
    return {
        "load": microseconds(lambda: PrivateKey(suite, private_key), times),
        "seal": microseconds(lambda: hpke.seal(suite, key.public_key, INFO, AAD, MESSAGE, source), times),
        "open": microseconds(lambda: key.open(enc, ciphertext, INFO, AAD), times),
        "bytes": len(enc) + len(ciphertext) - len(MESSAGE),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000)
    times = parser.parse_args().messages
    found = {name: measured(name, times) for name in reversed(KemName)}
    for name, values in found.items():
        print(f"{name:8}" + "".join(f"  {what} {value:7.1f}" for what, value in values.items()))
    ratios = {what: value / found[KemName.X25519][what] for what, value in found[KemName.X_WING].items()}
    print("ratio   " + "".join(f"  {what} {ratio:7.2f}" for what, ratio in ratios.items()))
    return int(ratios["open"] > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
