"""Divergences by their definition, with 40 digits: slow, and for few devices only."""

from itertools import product

from mpmath import mp

DIGITS = 40


def flip_probability(epsilon0):
    return 1 / (mp.exp(mp.mpf(epsilon0)) + 1)


def hockey_stick(first, second, epsilon):
    """The larger of both directions, summed over every outcome of {outcome: probability}."""
    factor = mp.exp(mp.mpf(epsilon))
    outcomes = first.keys() | second.keys()
    directions = [
        sum((max(mp.mpf(0), p.get(x, 0) - factor * q.get(x, 0)) for x in outcomes), mp.mpf(0))
        for p, q in ((first, second), (second, first))
    ]
    return max(directions)


def released(devices):
    """The sum of independent devices, each {contribution (a tuple): probability}."""
    total = {}
    for device in devices:
        if not total:
            total = dict(device)
            continue
        larger = {}
        for x, p in total.items():
            for y, q in device.items():
                z = tuple(a + b for a, b in zip(x, y, strict=True))
                larger[z] = larger.get(z, 0) + p * q
        total = larger
    return total


def randomized(bits, epsilon0):
    """One device that randomizes each of its bits: {reported bits: probability}."""
    p = flip_probability(epsilon0)
    found = {}
    for flips in product((0, 1), repeat=len(bits)):
        probability = mp.mpf(1)
        for flip in flips:
            probability *= p if flip else 1 - p
        found[tuple(bit ^ flip for bit, flip in zip(bits, flips, strict=True))] = probability
    return found


def unit(i, k):
    return tuple(int(i == j) for j in range(k))


def sampled(device, rate):
    """The device takes part with probability `rate`; a one that counts it is put in front."""
    length = len(next(iter(device)))
    found = {(1, *x): mp.mpf(rate) * p for x, p in device.items()}
    found[(0,) * (length + 1)] = 1 - mp.mpf(rate)
    return found
