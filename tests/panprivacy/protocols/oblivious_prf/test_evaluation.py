import random

import pytest

from panprivacy.encryption.secp256k1 import GROUP_ORDER, multiply
from panprivacy.protocols.oblivious_prf import evaluation
from panprivacy.protocols.oblivious_prf.evaluation import InvalidElementError

SOURCE = random.Random(9497)
INPUTS = (b"", b"device", bytes(65_535))


def by_definition(key: bytes, input_: bytes) -> bytes:
    """F_k(input) by one party that has both (RFC 9497, section 3.3.1)."""
    point = multiply(evaluation._hashed(input_), evaluation._checked(key))
    return evaluation._output(input_, point)


def through_both(key: bytes, input_: bytes) -> bytes:
    asked = evaluation.ask(input_, SOURCE)
    return asked.finish(evaluation.evaluate(key, asked.element))


def test_value_by_two_parties_is_that_of_one_and_the_same_each_time() -> None:
    key = evaluation.new_key(SOURCE)
    for input_ in INPUTS:
        assert {through_both(key, input_) for _ in range(3)} == {by_definition(key, input_)}


def test_values_of_other_inputs_and_keys_differ() -> None:
    keys = [evaluation.new_key(SOURCE) for _ in range(3)]
    values = {by_definition(key, input_) for key in keys for input_ in INPUTS}
    assert len(values) == len(keys) * len(INPUTS)


def test_elements_of_one_input_differ_and_every_element_fits_every_input() -> None:
    """So the party with the key learns nothing: for each input there is a factor that gives what it saw."""
    first, second = (evaluation.ask(b"device", SOURCE) for _ in range(2))
    assert first.element != second.element
    key = evaluation.new_key(SOURCE)
    for asked in (first, second):
        assert asked.finish(evaluation.evaluate(key, asked.element)) == by_definition(key, b"device")
    assert first.finish(evaluation.evaluate(key, second.element)) != by_definition(key, b"device")


@pytest.mark.parametrize(
    "element", [b"", bytes(33), b"\2" + bytes(32), b"\5" + bytes(31) + b"\1", b"\2" + b"\xff" * 32, bytes(65)]
)
def test_evaluate_and_finish_of_what_is_no_point_are_refused(element: bytes) -> None:
    with pytest.raises(InvalidElementError, match="33 bytes"):
        evaluation.evaluate(evaluation.new_key(SOURCE), element)
    with pytest.raises(InvalidElementError, match="33 bytes"):
        evaluation.ask(b"device", SOURCE).finish(element)


@pytest.mark.parametrize("key", [b"", bytes(32), GROUP_ORDER.to_bytes(32, "big"), bytes(31) + b"\1\0"])
def test_evaluate_with_what_is_no_key_is_refused(key: bytes) -> None:
    with pytest.raises(InvalidElementError, match="a key"):
        evaluation.evaluate(key, evaluation.ask(b"device", SOURCE).element)


def test_ask_about_too_long_an_input_is_refused_and_repr_shows_no_factor() -> None:
    with pytest.raises(ValueError, match="65535 bytes"):
        evaluation.ask(bytes(65_536), SOURCE)
    asked = evaluation.ask(b"device", SOURCE)
    assert str(asked.factor) not in repr(asked)
