"""TurboSHAKE128 (RFC 9861) of many messages of one length at once, in NumPy.

A call of a library's TurboSHAKE128 costs several times what the function itself does, and a report needs
four to eleven of them. Here one operation of NumPy does the same step for all messages.
"""

import numpy as np
from numpy.typing import NDArray

from panprivacy.protocols.prio3 import native

Bytes = NDArray[np.uint8]
"""One message a row."""

_RATE = 168
_LANES = 25
_ROUNDS = 12
_WORD = np.dtype("<u8")
_PADDING = 0x80
_TOGETHER = 2048
"""Messages whose states fit a processor's second-level cache."""


def _round_constants() -> list[np.uint64]:
    """Of the last 12 of Keccak's 24 rounds (FIPS 202, section 3.2.5): bits from a shift register."""
    register, constants = 1, []
    for _ in range(24):
        constant = 0
        for j in range(7):
            constant |= (register & 1) << (2**j - 1)
            register = (register << 1) ^ (0x171 * (register >> 7))
        constants.append(np.uint64(constant))
    return constants[-_ROUNDS:]


def _rotations() -> NDArray[np.uint64]:
    """By how many bits each lane turns (FIPS 202, section 3.2.2), at [y, x]."""
    rotations = np.zeros((5, 5), np.uint64)
    x, y = 1, 0
    for t in range(24):
        rotations[y, x] = (t + 1) * (t + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return rotations


_CONSTANTS = _round_constants()
_LEFT = _rotations()[:, :, None]
_RIGHT = (64 - _LEFT) % 64  # of 0 for 0, if both shifts leave the lane as it is
_SOURCES = np.array([5 * (x % 5) + (x + 3 * y) % 5 for y in range(5) for x in range(7)])
"""Which lane moves to each place (FIPS 202, section 3.2.3); two more places a row repeat its beginning."""


def turboshake128(messages: Bytes, domain: int, length: int) -> Bytes:
    """The first `length` bytes for each message.

    Args:
        messages: N rows of one length.
        domain: the domain byte, 1 to 127.
        length: at least 1.

    Returns:
        N rows of `length` bytes.
    """
    if native.module is not None:
        output = np.empty((len(messages), length), np.uint8)
        return np.asarray(native.module.turboshake128(messages, np.uint8(domain), out=output))
    outputs = [
        _block(messages[at : at + _TOGETHER], domain, length) for at in range(0, len(messages), _TOGETHER)
    ]
    return np.concatenate(outputs) if outputs else np.empty((0, length), np.uint8)


def _block(messages: Bytes, domain: int, length: int) -> Bytes:
    count, size = messages.shape
    blocks = size // _RATE + 1
    padded = np.zeros((count, blocks * _RATE), np.uint8)
    padded[:, :size] = messages
    padded[:, size] = domain
    padded[:, -1] ^= _PADDING
    words = padded.view(_WORD).reshape(count, blocks, -1).transpose(1, 2, 0)
    state = np.zeros((_LANES, count), np.uint64)
    for absorbed in words:
        state[: len(absorbed)] ^= absorbed
        _permute(state.reshape(5, 5, count))
    outputs = [_squeezed(state)]
    while len(outputs) * _RATE < length:
        _permute(state.reshape(5, 5, count))
        outputs.append(_squeezed(state))
    return np.concatenate(outputs, axis=1)[:, :length]


def _squeezed(state: NDArray[np.uint64]) -> Bytes:
    # A copy also of a single message, whose transpose is a view that the next permutation would overwrite.
    return state[: _RATE // 8].T.astype(_WORD, order="C").view(np.uint8)


def _permute(lanes: NDArray[np.uint64]) -> None:
    """Keccak-p[1600, 12] (FIPS 202, section 3.3) of lanes[y, x, message], in place."""
    count = lanes.shape[2]
    turned = np.empty_like(lanes)
    parity = np.empty((7, count), np.uint64)
    effect = np.empty((5, count), np.uint64)
    carry = np.empty((5, count), np.uint64)
    wide = np.empty((5, 7, count), np.uint64)
    for constant in _CONSTANTS:
        np.bitwise_xor(lanes[0], lanes[1], out=parity[1:6])
        for y in (2, 3, 4):
            parity[1:6] ^= lanes[y]
        parity[0], parity[6] = parity[5], parity[1]
        np.left_shift(parity[2:], np.uint64(1), out=effect)
        np.right_shift(parity[2:], np.uint64(63), out=carry)
        effect |= carry
        effect ^= parity[:5]
        lanes ^= effect

        np.left_shift(lanes, _LEFT, out=turned)
        np.right_shift(lanes, _RIGHT, out=lanes)
        turned |= lanes
        np.take(turned.reshape(_LANES, count), _SOURCES, axis=0, out=wide.reshape(-1, count), mode="clip")

        np.invert(wide[:, 1:6], out=lanes)
        lanes &= wide[:, 2:]
        lanes ^= wide[:, :5]
        lanes[0, 0] ^= constant
