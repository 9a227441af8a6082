"""The extendable output function of batches against a library's."""

import numpy as np
import pytest
from Cryptodome.Hash import TurboSHAKE128

from panprivacy.protocols.prio3.batch_field import BatchField
from panprivacy.protocols.prio3.batch_turboshake import turboshake128
from panprivacy.protocols.prio3.batch_xof import without_excess
from panprivacy.protocols.prio3.field import FIELD64


@pytest.mark.parametrize("size", [0, 1, 7, 8, 166, 167, 168, 169, 335, 336, 337, 700])
@pytest.mark.parametrize(
    ("count", "domain", "length"),
    [(3, 1, 1), (3, 127, 167), (3, 1, 168), (1, 2, 169), (2, 1, 500), (2049, 1, 200)],
)
def test_turboshake128_of_any_lengths_equals_the_librarys(count, size, domain, length):
    """Of more messages than a batch has, too: these are 2,048."""
    messages = np.random.default_rng(size).integers(0, 256, (count, size), np.uint8)
    found = turboshake128(messages, domain, length)
    for message, output in zip(messages[-3:], found[-3:], strict=True):
        assert output.tobytes() == TurboSHAKE128.new(domain=domain, data=message.tobytes()).read(length)


def test_without_excess_takes_another_row_where_a_number_is_no_element():
    rows = [[1, 2], [3, FIELD64.modulus], [2**64 - 1, 4], [FIELD64.modulus - 1, 0]]
    streams = np.array(rows, np.uint64).astype("<u8").view(np.uint8)
    asked = []

    def again(row):
        asked.append(row)
        return bytes([row]) * 16

    found = without_excess(BatchField(FIELD64), streams.copy(), again)
    assert asked == [1, 2]
    assert found[[0, 3]].tolist() == streams[[0, 3]].tolist()
    assert found[1].tobytes() == b"\x01" * 16
