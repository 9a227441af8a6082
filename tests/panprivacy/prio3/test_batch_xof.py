"""The extendable output function of batches against a library's."""

import numpy as np
import pytest
from Cryptodome.Hash import TurboSHAKE128
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.prio3 import xof
from panprivacy.prio3.batch_field import BatchField
from panprivacy.prio3.batch_turboshake import turboshake128
from panprivacy.prio3.batch_xof import WORTH_A_BATCH, BatchXof, without_excess
from panprivacy.prio3.field import FIELD64
from panprivacy.prio3.prio3 import Prio3Count


@pytest.mark.parametrize("size", [0, 1, 7, 8, 166, 167, 168, 169, 335, 336, 337, 700])
@pytest.mark.parametrize("length", [1, 32, 167, 168, 169, 336, 500])
def test_turboshake128_of_any_lengths_equals_the_librarys(size, length):
    messages = np.random.default_rng(size).integers(0, 256, (3, size), np.uint8)
    found = turboshake128(messages, 1, length)
    for message, output in zip(messages, found, strict=True):
        library = TurboSHAKE128.new(domain=1, data=message.tobytes()).read(length)
        assert output.tobytes() == library


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), size=st.integers(0, 400), domain=st.integers(1, 127))
def test_turboshake128_of_any_message_and_domain_equals_the_librarys(seed, size, domain):
    message = np.random.default_rng(seed).integers(0, 256, (1, size), np.uint8)
    library = TurboSHAKE128.new(domain=domain, data=message.tobytes()).read(50)
    assert turboshake128(message, domain, 50).tobytes() == library


def test_turboshake128_of_more_messages_than_go_together_equals_the_librarys():
    messages = np.random.default_rng(1).integers(0, 256, (2050, 60), np.uint8)
    found = turboshake128(messages, 1, 10)
    for i in (0, 2047, 2048, 2049):
        assert found[i].tobytes() == TurboSHAKE128.new(domain=1, data=messages[i].tobytes()).read(10)


def test_turboshake128_of_no_messages_is_no_output():
    assert turboshake128(np.empty((0, 40), np.uint8), 1, 8).shape == (0, 8)


@pytest.mark.parametrize("count", [1, WORTH_A_BATCH - 1, WORTH_A_BATCH, WORTH_A_BATCH + 1])
@pytest.mark.parametrize("contexts", ["one", "of one length", "of several lengths"])
def test_seeds_and_elements_of_a_batch_equal_those_of_each_report(count, contexts):
    vdaf, field = Prio3Count(), BatchField(FIELD64)
    seeds, binders = (np.random.default_rng(i).integers(0, 256, (count, 32), np.uint8) for i in range(2))
    each = {
        "one": [b"context"] * count,
        "of one length": [i.to_bytes(3, "big") for i in range(count)],
        "of several lengths": [bytes(i % 5) for i in range(count)],
    }[contexts]
    batch = BatchXof(vdaf, field, b"context" if contexts == "one" else each)
    derived = batch.seeds(6, seeds, b"\x01", binders)
    elements = batch.elements(5, 3, bytes(32), binders)
    for i, context in enumerate(each):
        binder = binders[i].tobytes()
        tag = xof.domain_separation_tag(vdaf.identifier, 6, context)
        assert derived[i].tobytes() == xof.derive_seed(seeds[i].tobytes(), tag, b"\x01" + binder)
        tag = xof.domain_separation_tag(vdaf.identifier, 5, context)
        assert elements[i].tobytes() == FIELD64.encode(
            xof.expand_into_vec(FIELD64, bytes(32), tag, binder, 3)
        )


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
