"""The walk over a request that has not been decoded: it counts as decoding would, and spends nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dap.helper.limits import job_check
from dap.limits import TooManyReportsError
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.aggregation import AggregationJobInitReq, ReportShare, VerifyInit
from panprivacy.protocols.dap.basics import HpkeCiphertext
from panprivacy.protocols.dap.upload import ReportMetadata


def request_of(sizes: list[tuple[int, int, int]]) -> bytes:
    return AggregationJobInitReq(
        0,
        b"",
        (),
        tuple(
            VerifyInit(
                ReportShare(
                    ReportMetadata(number.to_bytes(16, "big"), 0),
                    bytes(public),
                    HpkeCiphertext(0, bytes(32), bytes(payload)),
                ),
                bytes(message),
            )
            for number, (public, payload, message) in enumerate(sizes)
        ),
    ).encode()


SIZES = st.tuples(st.integers(0, 40), st.integers(1, 40), st.integers(1, 40))


@given(st.lists(SIZES, min_size=1, max_size=8))
def test_exactly_as_many_reports_as_there_are_pass(sizes: list[tuple[int, int, int]]) -> None:
    body = request_of(sizes)
    job_check(body, len(sizes))
    with pytest.raises(TooManyReportsError):
        job_check(body, len(sizes) - 1)


@given(st.lists(SIZES, min_size=1, max_size=4), st.data())
def test_cut_request_passes_and_fails_later(sizes: list[tuple[int, int, int]], data: st.DataObject) -> None:
    body = request_of(sizes)
    whole = {len(request_of(sizes[:count])) for count in range(len(sizes) + 1)}
    cut = data.draw(st.integers(0, len(body) - 1).filter(lambda length: length not in whole))
    job_check(body[:cut], len(sizes))
    with pytest.raises(InvalidMessageError):
        AggregationJobInitReq.decode(body[:cut])


@given(st.binary(max_size=300))
def test_any_bytes_are_walked_over_without_an_error_but_the_one(body: bytes) -> None:
    try:
        job_check(body, 2)
    except TooManyReportsError:
        assert len(body) > 2 * 44
