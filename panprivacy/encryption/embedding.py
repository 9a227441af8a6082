"""Byte strings as plaintexts: cut into pieces that fit one plaintext each, and marked.

A piece of n bytes is encoded as the integer 256^n + piece. The 256^n is a mark that a decryption must find.
So neither a chosen integer nor a piece of another length reads as a piece of n bytes.
"""


def piece_lengths(length: int, longest: int) -> tuple[int, ...]:
    """Lengths of the fewest pieces of at most `longest` bytes, as even as possible; the longer come first.

    Raises ValueError unless `length` ≥ 1.
    """
    if length < 1:
        raise ValueError(f"a byte string to encrypt has at least 1 byte, not {length}")
    pieces = -(-length // longest)
    quotient, longer = divmod(length, pieces)
    return (quotient + 1,) * longer + (quotient,) * (pieces - longer)


def embedded(message: bytes, longest: int) -> list[int]:
    """The integers that stand for `message` in pieces of `piece_lengths`."""
    values, start = [], 0
    for length in piece_lengths(len(message), longest):
        values.append(int.from_bytes(b"\x01" + message[start : start + length], "big"))
        start += length
    return values


def extracted(value: int, length: int) -> bytes | None:
    """The piece of `length` bytes that the integer `value` ≥ 0 encodes, or None if it encodes none."""
    if value >> 8 * length != 1:
        return None
    return value.to_bytes(length + 1, "big")[1:]
