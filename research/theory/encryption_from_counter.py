"""A message encrypted and decrypted with nothing but a pan-private counter (LPP Theorem 6.1), and why a
counter that is accurate and private without cryptography cannot exist: it would need no private key."""

import math
import random
from collections.abc import Sequence
from functools import partial

import numpy as np
import scipy

from panprivacy.statistics.simulation import simulation_generator, source
from research.statements import Basis, Figure, Line, Statement, one_panel
from research.theory.counter_encryption import CounterEncryption
from research.theory.counters import EncryptedCounter
from research.theory.demonstration import Demonstration
from research.theory.square_root_of_t import flip_probability

KEY = "encryption-from-counter"

MESSAGE = "Hi!"
EPSILON = 2.0
DEVICES = 65
STEPS = 4
STEPS_DRAWN = (1, 4, 16, 64, 256, 1024, 4096)
REPETITIONS = 4_000
"""Of the attack on the randomized state: bits encrypted and read."""


def bits_of(message: str) -> list[int]:
    """The bits of the UTF-8 form, the most significant of each byte first."""
    return [byte >> place & 1 for byte in message.encode() for place in reversed(range(8))]


def text_of(bits: Sequence[int]) -> str:
    """The inverse of `bits_of`; what is no UTF-8 becomes a replacement character."""
    encoded = bytes(
        sum(bit << place for bit, place in zip(bits[start : start + 8], reversed(range(8)), strict=True))
        for start in range(0, len(bits), 8)
    )
    return encoded.decode(errors="replace")


def spelt(bits: Sequence[int]) -> str:
    """0s and 1s, with a space after each eight."""
    return " ".join("".join(map(str, bits[start : start + 8])) for start in range(0, len(bits), 8))


def wrong_bit_probability(devices: int, epsilon: float) -> float:
    """The larger probability of the two bits to be decrypted wrongly with `EncryptedCounter`, exactly.

    The estimate is at least n/2 just when at least n/2 of the n decrypted responses are 1.
    """
    p = flip_probability(epsilon)
    at_least = math.ceil(devices / 2)
    zero_read_as_one = scipy.stats.binom.sf(at_least - 1, devices, p)
    one_read_as_zero = scipy.stats.binom.cdf(at_least - 1, devices, 1 - p)
    return float(max(zero_read_as_one, one_read_as_zero))


def read_without_key(devices: int, steps: int, epsilon: float, random_source: random.Random) -> float:
    """How often a bit is read rightly after `steps` steps in all, if the counter sums randomized responses.

    No private key is needed, because it is empty: an eavesdropper reads a fresh ciphertext after the 1 step
    of Enc, a receiver that follows Dec after T. Half of the bits are 1.
    """
    p = flip_probability(epsilon)
    draw = simulation_generator(random_source)
    half = REPETITIONS // 2
    # The sum of all devices' states, distributed as CounterEncryption leaves it.
    later = draw.binomial(steps - 1, p, (2, half, devices)).sum(axis=2)
    first = draw.binomial(devices, np.array([[p], [1 - p]]), (2, half))
    estimates = (later + first - devices * steps * p) / (1 - 2 * p)
    right = np.sum(estimates[0] < devices / 2) + np.sum(estimates[1] >= devices / 2)
    return float(right / (2 * half))


def transmit(message: str, seed: int) -> tuple[list[int], bool, int]:
    """Encrypt every bit, rerandomize each as often as possible, decrypt.

    Returns:
        the decrypted bits; whether every rerandomization changed every state; bytes of one encrypted bit.
    """
    random_source = source(seed, KEY, "message")
    scheme = CounterEncryption(EncryptedCounter(STEPS, EPSILON), DEVICES)
    public_key, private_key = scheme.generate_keys(random_source)
    decrypted, all_changed, size = [], True, 0
    for bit in bits_of(message):
        ciphertext = scheme.encrypt(bit, public_key, random_source)
        for _ in range(STEPS - 1):
            before, ciphertext = ciphertext, scheme.rerandomize(ciphertext, random_source)
            all_changed &= all(
                one != other for one, other in zip(before.states, ciphertext.states, strict=True)
            )
        size = sum(len(bytes(value)) for _, (value,) in ciphertext.states)
        decrypted.append(scheme.decrypt(ciphertext, private_key, random_source))
    return decrypted, all_changed, size


def measured_receiver(steps: int, seed: int) -> float:
    """What the receiver of a randomized counter's ciphertext reads rightly at T = `steps`."""
    return read_without_key(DEVICES, steps, EPSILON, source(seed, KEY, "receiver", steps))


def measured_eavesdropper(steps: int, seed: int) -> float:
    """The share that an eavesdropper reads correctly on the wire: T does not matter then."""
    return read_without_key(DEVICES, 1, EPSILON, source(seed, KEY, "eavesdropper", steps))


def demonstrate(seed: int) -> Demonstration:
    """A message through the encrypted counter, and what an eavesdropper reads of the randomized one."""
    sent = bits_of(MESSAGE)
    received, all_changed, size = transmit(MESSAGE, seed)
    wrong = wrong_bit_probability(DEVICES, EPSILON)
    line = partial(Line.over, STEPS_DRAWN)
    chart = Figure(
        key=f"{KEY}-readers",
        title="Who can read an encrypted bit",
        caption="With the encrypted counter only the receiver reads. With the randomized one an "
        "eavesdropper needs no key, and takes the message before T steps have blurred it for the receiver.",
        x_title="time steps T",
        y_title="bits read rightly, as a part of all",
        panels=one_panel(
            STEPS_DRAWN,
            line("receiver, encrypted", Basis.COMPUTED, lambda _: 1 - wrong),
            line("eavesdropper, encrypted", Basis.BOUND, lambda _: 0.5),
            line("receiver, randomized", Basis.MEASURED, lambda steps: measured_receiver(steps, seed)),
            line(
                "eavesdropper, randomized", Basis.MEASURED, lambda steps: measured_eavesdropper(steps, seed)
            ),
        ),
        logarithmic_y=False,
    )
    return Demonstration(
        key=KEY,
        title="Counting so privately is as hard as encrypting",
        sentence="With a counter that no intruder can read, and that still counts well, any sender can "
        "encrypt a message. So there is no such counter without public-key encryption.",
        measured=f"“{MESSAGE}”, bit by bit: each is the first event of {DEVICES} devices of count_nonzero "
        f"(ElGamal on secp256k1, ε = {EPSILON:g}, T = {STEPS}), rerandomized {STEPS - 1} times, then "
        f"decrypted by counting. Also {REPETITIONS:,} bits through {DEVICES} devices that keep "
        f"randomized sums, ε = {EPSILON:g}.",
        proved="The encryption is as secure as the counter is pan-private, here under the decisional "
        "Diffie–Hellman assumption: an eavesdropper’s one half is that assumption, not a measurement. A "
        "counter without cryptography leaves nothing for a private key: an eavesdropper who sees the states "
        "can count as well as the receiver.",
        source="Local Pan-Privacy for Federated Analytics, section 6, Theorem 6.1",
        seed=seed,
        charts=(chart,),
        facts=(
            Statement("bits sent", spelt(sent), Basis.MEASURED),
            Statement("bits decrypted", spelt(received), Basis.MEASURED),
            Statement("text decrypted", text_of(received), Basis.MEASURED),
            Statement(
                f"every state changed by each of the {STEPS - 1} rerandomizations",
                "yes" if all_changed else "no",
                Basis.MEASURED,
            ),
            Statement("bytes of one encrypted bit", size, Basis.MEASURED),
            Statement("probability that one bit is decrypted wrongly", wrong, Basis.COMPUTED),
        ),
    )
