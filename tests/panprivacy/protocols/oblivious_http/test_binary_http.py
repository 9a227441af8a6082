import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.formats.tls_messages import Reader
from panprivacy.protocols.oblivious_http import padding, variable_integers
from panprivacy.protocols.oblivious_http.binary_http import InvalidBinaryHttpError, Request, Response
from panprivacy.protocols.oblivious_http.padding import CLASSES, TooLongError

NAMES = st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True).map(str.encode)
VALUES = st.from_regex(r"[^\x00\r\n]{0,80}", fullmatch=True).map(lambda text: text.encode())
FIELDS = st.lists(st.tuples(NAMES, VALUES), max_size=4).map(tuple)
CONTENT = st.binary(max_size=300)
REQUESTS = st.builds(
    Request, st.just(b"POST"), st.just(b"https"), st.just(b"site.example"), st.just(b"/api/"),
    FIELDS, CONTENT, FIELDS,
)  # fmt: skip


def number(value: int) -> bytes:
    return variable_integers.encode(value)


def text(value: bytes) -> bytes:
    return number(len(value)) + value


CONTROL = text(b"GET") + text(b"https") + text(b"site.example") + text(b"/")


@pytest.mark.parametrize(
    ("value", "encoded"),
    # RFC 9000, appendix A.1, and the borders of the lengths
    [
        (151_288_809_941_952_652, "c2197c5eff14e88c"),
        (494_878_333, "9d7f3e7d"),
        (15_293, "7bbd"),
        (37, "25"),
        (0, "00"),
        (63, "3f"),
        (64, "4040"),
        (16_383, "7fff"),
        (16_384, "80004000"),
        (2**30 - 1, "bfffffff"),
        (2**30, "c000000040000000"),
        (2**62 - 1, "ffffffffffffffff"),
    ],
)
def test_number_is_written_as_rfc_9000_says(value: int, encoded: str) -> None:
    assert number(value).hex() == encoded
    assert variable_integers.read(Reader(bytes.fromhex(encoded), 0, len(encoded) // 2)) == value


def test_number_may_be_longer_than_needed_but_not_cut_or_out_of_range() -> None:
    assert variable_integers.read(Reader(bytes.fromhex("4025"), 0, 2)) == 37
    with pytest.raises(ValueError, match="cut short"):
        variable_integers.read(Reader(b"\x40", 0, 1))
    for value in (-1, 2**62):
        with pytest.raises(ValueError, match="must be 0 to"):
            number(value)


@given(REQUESTS, st.integers(0, 50))
def test_request_is_read_as_written_whatever_the_padding(request: Request, zeros: int) -> None:
    assert Request.decode(request.encode() + bytes(zeros)) == request


@given(st.integers(200, 599), FIELDS, CONTENT, FIELDS, st.integers(0, 50))
def test_response_is_read_as_written_whatever_the_padding(status, headers, content, trailers, zeros):
    response = Response(status, headers, content, trailers)
    assert Response.decode(response.encode() + bytes(zeros)) == response


def test_messages_may_end_early_where_nothing_would_follow() -> None:
    bare = Request(b"GET", b"https", b"site.example", b"/")
    whole = number(0) + CONTROL
    for end in (b"", b"\0", b"\0\0", b"\0\0\0"):
        assert Request.decode(whole + end) == bare
    assert Response.decode(number(1) + number(204)) == Response(204)


def test_message_in_pieces_is_put_together() -> None:
    fields = text(b"accept") + text(b"*/*") + text(b"x") + text(b"") + b"\0"
    content = text(b"one ") + text(b"two") + b"\0"
    request = Request.decode(number(2) + CONTROL + fields + content + b"\0" + bytes(9))
    assert (request.headers, request.content) == (((b"accept", b"*/*"), (b"x", b"")), b"one two")
    early = number(103) + text(text(b"link") + text(b"</style.css>"))
    response = number(1) + early + number(102) + b"\0" + number(200) + b"\0" + text(b"content") + b"\0"
    assert Response.decode(response) == Response(200, (), b"content")


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        number(1) + CONTROL,  # a response's framing
        number(4) + CONTROL,
        number(0) + CONTROL[:-1],
        number(0) + text(b"") + CONTROL[4:],  # no method
        number(0) + text(b"GE T") + CONTROL[4:],
        number(0) + text(b"GET") + text(b"https") + text(b"site.example") + text(b"/\r\nx: y"),
        number(0) + CONTROL + text(text(b":path") + text(b"/other")),
        number(0) + CONTROL + text(text(b"Accept") + text(b"*/*")),  # upper case
        number(0) + CONTROL + text(text(b"") + text(b"value")),
        number(0) + CONTROL + text(text(b"accept") + text(b"a\r\nb: c")),
        number(0) + CONTROL + text(text(b"accept")),  # a name without a value
        number(0) + CONTROL + b"\0" + number(2**40),  # more content than there is
        number(0) + CONTROL + b"\0\0\0" + b"\0\1",  # padding that is not zero
        number(2) + CONTROL + b"\0" + text(b"content"),  # the end of the pieces is missing
    ],
)
def test_request_that_is_none_is_refused(encoded: bytes) -> None:
    with pytest.raises(InvalidBinaryHttpError):
        Request.decode(encoded)


@pytest.mark.parametrize("status", [0, 99, 600, 2**40])
def test_response_of_another_status_is_refused(status: int) -> None:
    with pytest.raises(InvalidBinaryHttpError, match="200 to 599"):
        Response.decode(number(1) + number(status))
    with pytest.raises(InvalidBinaryHttpError, match="200 to 599"):
        Response(status).encode()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(encoded: bytes) -> None:
    for message in (Request, Response):
        try:
            message.decode(encoded)
        except InvalidBinaryHttpError:
            continue


def test_padding_leaves_three_lengths_and_every_message_of_a_kind_the_same() -> None:
    lengths = {len(padding.padded(bytes(length))) for length in (0, 1, 1024, 1025, 4096, 4097, 32_768)}
    assert lengths == set(CLASSES)
    assert len(padding.padded(b"short", at_least=1025)) == 4096
    for message, at_least in ((bytes(32_769), 0), (b"", 32_769)):
        with pytest.raises(TooLongError, match="32768"):
            padding.padded(message, at_least)
