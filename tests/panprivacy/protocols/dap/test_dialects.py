"""The dialect of Janus: its messages byte for byte and its addresses."""

import pytest

from panprivacy.formats.tls_messages import InvalidMessageError, Message
from panprivacy.protocols.dap.aggregation import (
    AggregationJobContinueReq,
    AggregationJobInitReq,
    AggregationJobResp,
    Continue,
    Finish,
    Reject,
    ReportShare,
    VerifyContinue,
    VerifyInit,
    VerifyResp,
    leader_selected_batch_id_extension,
)
from panprivacy.protocols.dap.basics import HpkeCiphertext, ReportError
from panprivacy.protocols.dap.collection import AggregateShareReq
from panprivacy.protocols.dap.dialects import AGGREGATION_JOBS, DRAFT_18, JANUS
from panprivacy.protocols.dap.upload import ReportMetadata

REPORT_ID, OTHER_ID, BATCH_ID = bytes(range(1, 17)), bytes(range(16, 0, -1)), bytes([2]) * 32
INITS = tuple(
    VerifyInit(ReportShare(ReportMetadata(id_, 54321), b"", HpkeCiphertext(42, b"012345", b"543210")), b"abc")
    for id_ in (REPORT_ID, OTHER_ID)
)
ENCODED_INITS = b"".join(
    id_
    + bytes.fromhex(
        "000000000000d431 0000 00000000 2a 0006 303132333435 00000006 353433323130 00000003 616263"
    )
    for id_ in (REPORT_ID, OTHER_ID)
)
BY_INTERVAL = AggregationJobInitReq(0, b"", (), INITS)
BY_BATCH = AggregationJobInitReq(0, b"", (leader_selected_batch_id_extension(BATCH_ID),), INITS)
ANSWER = AggregationJobResp(
    (
        VerifyResp(REPORT_ID, Continue(b"abc")),
        VerifyResp(OTHER_ID, Finish()),
        VerifyResp(OTHER_ID, Reject(ReportError.REPORT_REPLAYED)),
    )
)
GOING_ON = AggregationJobContinueReq(3, (VerifyContinue(REPORT_ID, b"abc"),))

SIZE = len(ENCODED_INITS).to_bytes(4, "big")
# As the structures of janus_messages at 4ab28a36 have it, field by field.
SPOKEN: list[tuple[Message, bytes]] = [
    (BY_INTERVAL, bytes.fromhex("00 00000000 01 0000") + SIZE + ENCODED_INITS),
    (BY_BATCH, bytes.fromhex("00 00000000 02 0020") + BATCH_ID + SIZE + ENCODED_INITS),
    (
        ANSWER,
        bytes.fromhex("0000003b")
        + (REPORT_ID + bytes.fromhex("00 00000003 616263"))
        + (OTHER_ID + b"\x01" + OTHER_ID + b"\x02\x02"),
    ),
    (GOING_ON, bytes.fromhex("0003 00000017") + REPORT_ID + bytes.fromhex("00000003 616263")),
]


@pytest.mark.parametrize(("message", "spoken"), SPOKEN)
def test_message_to_janus_has_its_bytes_and_comes_back(message: Message, spoken: bytes) -> None:
    encoded = message.encode()
    assert JANUS.write(type(message), encoded) == spoken
    assert JANUS.read(type(message), spoken) == encoded
    assert DRAFT_18.write(type(message), encoded) == DRAFT_18.read(type(message), encoded) == encoded


@pytest.mark.parametrize(("message", "spoken"), SPOKEN)
def test_message_of_janus_cut_or_extended_is_refused(message: Message, spoken: bytes) -> None:
    for wrong in (*(spoken[:end] for end in range(len(spoken))), spoken + b"\0"):
        with pytest.raises(InvalidMessageError):
            JANUS.read(type(message), wrong)


@pytest.mark.parametrize(
    "head",
    [
        "00 00000000 01 0001 07",
        "00 00000000 02 0000",
        "00 00000000 02 001f" + "02" * 31,
        "00 00000000 03 0000",
    ],
)
def test_batch_of_janus_that_fits_no_mode_is_refused(head: str) -> None:
    with pytest.raises(InvalidMessageError):
        JANUS.read(AggregationJobInitReq, bytes.fromhex(head) + SIZE + ENCODED_INITS)


def test_message_without_differences_is_the_same_in_both() -> None:
    assert JANUS.write(AggregateShareReq, b"abc") == JANUS.read(AggregateShareReq, b"abc") == b"abc"


def test_creation_names_the_resource_in_janus_only() -> None:
    task_id, identifier = bytes(32), bytes(16)
    path = f"/tasks/{'A' * 43}/aggregation_jobs"
    assert DRAFT_18.creation(task_id, AGGREGATION_JOBS, identifier) == ("POST", path)
    assert JANUS.creation(task_id, AGGREGATION_JOBS, identifier) == ("PUT", f"{path}/{'A' * 22}")


def test_janus_gets_errors_that_it_knows() -> None:
    known = {JANUS.known_error(error) for error in ReportError}
    assert known == set(ReportError) - {ReportError.OUTDATED_CONFIG}
    assert {DRAFT_18.known_error(error) for error in ReportError} == set(ReportError)
