import random
import secrets

import pytest
import scipy

from research.theory import encryption_from_counter as theory
from research.theory.counter_encryption import CounterEncryption, RerandomizationsUsedUpError
from research.theory.counters import EncryptedCounter
from tests.research.theory.randomized_counter import RandomizedCounter

STEPS, EPSILON = 3, 3.0

COUNTERS = {"encrypted": EncryptedCounter(STEPS, EPSILON), "randomized": RandomizedCounter(STEPS, EPSILON)}


@pytest.fixture(params=COUNTERS)
def scheme(request):
    """Of 41 devices: at ε = 3 the encrypted counter is wrong with probability 1e-16."""
    return CounterEncryption(COUNTERS[request.param], 41)


@pytest.mark.statistical
@pytest.mark.parametrize("bit", [0, 1])
def test_decrypt_gives_the_bit_back_after_any_number_of_rerandomizations(scheme, bit):
    # The randomized counter sums 3 responses of each device: half of 41 is more than 6 standard errors away
    # (failure below 1e-6 by the exact distribution).
    p = 1 / (2.718281828459045**EPSILON + 1)
    limit = 41 / 2 * (1 - 2 * p) + 123 * p
    assert scipy.stats.binom.sf(int(limit), 123, p) < 1e-6
    random_source = secrets.SystemRandom()
    public_key, private_key = scheme.generate_keys(random_source)
    ciphertext = scheme.encrypt(bit, public_key, random_source)
    for step in range(1, STEPS + 1):
        assert ciphertext.step == step
        assert scheme.decrypt(ciphertext, private_key, random_source) == bit
        if step < STEPS:
            ciphertext = scheme.rerandomize(ciphertext, random_source)
    with pytest.raises(RerandomizationsUsedUpError):
        scheme.rerandomize(ciphertext, random_source)


def test_rerandomize_changes_every_state_and_encrypt_repeats_none():
    random_source = secrets.SystemRandom()
    scheme = CounterEncryption(COUNTERS["encrypted"], 5)
    public_key, _ = scheme.generate_keys(random_source)
    first = scheme.encrypt(1, public_key, random_source)
    for other in (scheme.encrypt(1, public_key, random_source), scheme.rerandomize(first, random_source)):
        assert set(first.states).isdisjoint(other.states)


def test_decrypt_with_keys_of_others_reads_nothing_of_an_encrypted_counter():
    # With another private key what a device sent decrypts to something that is no bit.
    random_source = secrets.SystemRandom()
    scheme = CounterEncryption(COUNTERS["encrypted"], 5)
    public_key, _ = scheme.generate_keys(random_source)
    _, others = scheme.generate_keys(random_source)
    with pytest.raises(ValueError, match=r"not in 0\.\.1"):
        scheme.decrypt(scheme.encrypt(1, public_key, random_source), others, random_source)


def test_bits_that_are_none_and_no_devices_are_refused():
    with pytest.raises(ValueError, match="devices must be at least 1"):
        CounterEncryption(COUNTERS["randomized"], 0)
    for bit in (-1, 2):
        with pytest.raises(ValueError, match="bit must be 0 or 1"):
            CounterEncryption(COUNTERS["randomized"], 1).encrypt(bit, (0,), random.Random(1))


@pytest.mark.parametrize("devices", [1, 2, 5, 6])
def test_wrong_bit_probability_is_the_sum_over_all_responses(devices):
    p = theory.flip_probability(1.0)
    wrong = {0: 0.0, 1: 0.0}
    for pattern in range(2**devices):
        flips = pattern.bit_count()
        weight = p**flips * (1 - p) ** (devices - flips)
        for bit in wrong:
            ones = flips if bit == 0 else devices - flips
            debiased = (ones - devices * p) / (1 - 2 * p)
            # Up to rounding where exactly half of the responses are 1.
            wrong[bit] += weight * ((debiased > devices / 2 - 1e-9) != bit)
    assert theory.wrong_bit_probability(devices, 1.0) == pytest.approx(max(wrong.values()))


@pytest.mark.parametrize("message", ["", "Hi!", "ε ≤ ½", "\x00\xff"])
def test_text_of_bits_is_the_message_again(message):
    assert theory.text_of(theory.bits_of(message)) == message


def test_message_goes_through_the_counter_bit_by_bit():
    # One letter: 8 bits of 65 devices. The stored document has the whole message.
    received, all_changed, size = theory.transmit("H", 1)
    assert received == [0, 1, 0, 0, 1, 0, 0, 0]
    assert all_changed
    assert size == 65 * 66
