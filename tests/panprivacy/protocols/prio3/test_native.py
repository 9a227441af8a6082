"""The compiled arithmetic against NumPy's, bit for bit, with arrays of every shape and order in memory."""

import runpy
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.protocols import prio3
from panprivacy.protocols.prio3 import native
from panprivacy.protocols.prio3.batch_field import SMALL, BatchField
from panprivacy.protocols.prio3.batch_turboshake import turboshake128
from panprivacy.protocols.prio3.field import FIELD64, FIELD128

compiled = pytest.mark.skipif(native.module is None, reason="not compiled: make native")
both = pytest.mark.parametrize("batch", [BatchField(FIELD64), BatchField(FIELD128)], ids=["64", "128"])
INT64 = np.iinfo(np.int64)


def in_numpy(function, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "module", None)
        return function(*arguments)


def any_order(draw, array):
    """The same numbers, in another order in memory: reversed, with gaps, transposed, not to be written to."""
    if draw(st.booleans()):
        array = array[..., ::-1].copy()[..., ::-1]
    if draw(st.booleans()):
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    if draw(st.booleans()):
        array = array.T.copy().T
    array.flags.writeable = draw(st.booleans())
    return array


@st.composite
def pairs(draw, limbs):
    """Two arrays of elements that broadcast, with one axis or two before that of the reports."""
    shape = [*draw(st.lists(st.integers(0, 4), min_size=1, max_size=2)), draw(st.integers(0, 19))]
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    edges = draw(st.sampled_from([(-SMALL, SMALL), (SMALL, SMALL), (INT64.min, INT64.max)]))
    pair = []
    for _ in range(2):
        own = [1 if draw(st.integers(0, 3)) == 0 else size for size in shape]
        pair.append(any_order(draw, generator.integers(*edges, (limbs, *own), np.int64, endpoint=True)))
    return pair


@compiled
@both
@given(data=st.data())
def test_native_products_of_any_arrays_equal_those_of_numpy(batch, data):
    """Of numbers that overflow, too: both wrap."""
    left, right = data.draw(pairs(batch.limbs))
    product = batch.multiply(left, right)
    np.testing.assert_array_equal(product, in_numpy(batch.multiply, left, right), strict=True)


@compiled
@both
@given(data=st.data())
def test_native_inner_products_of_any_arrays_equal_those_of_numpy(batch, data):
    left, right = data.draw(pairs(batch.limbs))
    if min(left.shape[-2], right.shape[-2]) == 0:
        for of in (batch.inner_product, lambda *pair: in_numpy(batch.inner_product, *pair)):
            with pytest.raises(ValueError, match="an inner product needs a term"):
                of(left, right)
        return
    terms = np.broadcast_shapes(left.shape, right.shape)[-2]
    left, right = (np.repeat(part, terms // part.shape[-2], axis=-2) for part in (left, right))
    product = batch.inner_product(left, right)
    np.testing.assert_array_equal(product, in_numpy(batch.inner_product, left, right), strict=True)


@compiled
@both
@pytest.mark.parametrize("terms", [50, 51, 52, 84, 85, 86, 172, 300])
def test_native_inner_products_of_many_terms_equal_those_of_numpy(batch, terms):
    left, right = np.random.default_rng(1).integers(-SMALL, SMALL, (2, batch.limbs, terms, 9))
    product = batch.inner_product(left, right)
    np.testing.assert_array_equal(product, in_numpy(batch.inner_product, left, right), strict=True)


@compiled
@given(
    count=st.integers(0, 19),
    size=st.integers(0, 400),
    length=st.integers(1, 400),
    domain=st.integers(1, 127),
    data=st.data(),
)
def test_native_turboshake128_of_any_messages_equals_that_of_numpy(count, size, length, domain, data):
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    messages = any_order(data.draw, generator.integers(0, 256, (count, size), np.uint8))
    output = turboshake128(messages, domain, length)
    np.testing.assert_array_equal(output, in_numpy(turboshake128, messages, domain, length), strict=True)


elements, read_only = np.ones((5, 3, 4), np.int64), np.zeros((5, 3, 4), np.int64)
read_only.flags.writeable = False
inner = {"axes": [(0, -2), (0, -2), (0,)]}


@compiled
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: native.module.multiply128(elements[:4], elements[:4], axis=0), ValueError),
        (lambda: native.module.multiply64(elements, elements, axis=0), ValueError),
        (lambda: native.module.multiply128(elements, elements[:, :2], axis=0), ValueError),
        (lambda: native.module.multiply128(elements, elements, axis=0, out=read_only), ValueError),
        (lambda: native.module.multiply128(elements, elements, axis=0, out=elements[:, :2]), ValueError),
        (lambda: native.module.multiply128(elements, elements.astype(float), axis=0), TypeError),
        (lambda: native.module.multiply128(elements, b"bytes", axis=0), TypeError),
        (lambda: native.module.inner_product128(elements, elements[:, :2], **inner), ValueError),
        (lambda: native.module.inner_product128(elements[:, 0], elements, **inner), ValueError),
        (lambda: native.module.turboshake128(np.ones((2, 3), np.uint8), np.uint8(1)), ValueError),
        (
            lambda: native.module.turboshake128(elements, np.uint8(1), out=np.empty((5, 3, 9), "u1")),
            TypeError,
        ),
    ],
)
def test_native_functions_of_arrays_that_do_not_fit_are_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("compiled_file", [None, b"not a library"])
def test_import_of_a_compiled_file_that_does_not_load_fails(compiled_file, tmp_path, monkeypatch):
    """And without one, NumPy computes."""
    monkeypatch.setattr(prio3, "__path__", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "panprivacy.protocols.prio3._native", raising=False)
    if compiled_file is None:
        assert runpy.run_path(native.__file__)["in_use"]() == "NumPy"
        return
    (tmp_path / "_native.abi3.so").write_bytes(compiled_file)
    with pytest.raises(ImportError):
        runpy.run_path(native.__file__)
