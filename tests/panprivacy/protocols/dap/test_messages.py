"""Encodings worked out by hand from the structs of DAP draft 18, and what messages themselves check."""

import dataclasses

import pytest

from panprivacy.formats.tls_messages import InvalidMessageError
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
from panprivacy.protocols.dap.basics import (
    BatchMode,
    Extension,
    HpkeCiphertext,
    HpkeConfig,
    Interval,
    ReportError,
    UnsupportedExtensionError,
)
from panprivacy.protocols.dap.collection import (
    AggregateShare,
    AggregateShareAad,
    AggregateShareReq,
    BatchSelector,
    CollectionJobReq,
    CollectionJobResp,
    InvalidExtensionError,
    Query,
)
from panprivacy.protocols.dap.task import TaskConfiguration, task_interval_extension
from panprivacy.protocols.dap.upload import (
    HpkeConfigList,
    InputShareAad,
    PlaintextInputShare,
    Report,
    ReportMetadata,
    ReportUploadStatus,
    UploadErrors,
    UploadRequest,
)

REPORT_ID = bytes.fromhex("000102030405060708090a0b0c0d0e0f")
REPORT_ID_HEX = "00010203 04050607 08090a0b 0c0d0e0f"
TASK_ID = bytes.fromhex("f0163447364ccf1bc0e3affcca6873c9c381f64acdf9020662f83f46c07219e7")

CONFIGURATION = TaskConfiguration(
    task_info=b"ab",
    leader_aggregator_endpoint="https://l/",
    helper_aggregator_endpoint="http://h",
    time_precision=3600,
    min_batch_size=100,
    batch_mode=BatchMode.TIME_INTERVAL,
    batch_config=b"",
    vdaf_type=4,
    vdaf_configuration=bytes.fromhex("0000000b00000004"),
    extensions=(task_interval_extension(Interval(1659544, 2)),),
)
CONFIGURATION_HEX = """
    02 6162
    000a 68747470733a2f2f6c2f
    0008 687474703a2f2f68
    0000000000000e10
    0000000000000064
    01
    0000
    00000004
    0008 0000000b 00000004
    0014 0001 0010 0000000000195298 0000000000000002
"""
METADATA = ReportMetadata(REPORT_ID, 17419860, (Extension(23, b"x"),))
METADATA_HEX = f"{REPORT_ID_HEX} 000000000109ce54 0005 0017 0001 78"
LEADER_CIPHERTEXT = HpkeCiphertext(1, b"\x0f\x0e", b"\x0b\x0a\x09")
LEADER_CIPHERTEXT_HEX = "01 0002 0f0e 00000003 0b0a09"
HELPER_CIPHERTEXT = HpkeCiphertext(2, b"\x0c", b"\x08")
HELPER_CIPHERTEXT_HEX = "02 0001 0c 00000001 08"
QUERY = Query.of_interval(Interval(1659544, 10))
QUERY_HEX = "01 0010 0000000000195298 000000000000000a"
COLLECTION_JOB = CollectionJobReq(QUERY, b"", (Extension(1, b""), Extension(2, b"yz")))
COLLECTION_JOB_HEX = f"{QUERY_HEX} 00000000 000a 0001 0000 0002 0002 797a"
VERIFY_INIT = VerifyInit(ReportShare(METADATA, b"\x0a\x0b", HELPER_CIPHERTEXT), b"\x05")
VERIFY_INIT_HEX = f"{METADATA_HEX} 00000002 0a0b {HELPER_CIPHERTEXT_HEX} 00000001 05"

VECTORS = {
    "interval": (Interval(1659544, 1), "0000000000195298 0000000000000001"),
    "hpke config list": (
        HpkeConfigList(
            (
                HpkeConfig(194, 0x0010, 0x0001, 0x0001, b"\1\2\3\4"),
                HpkeConfig(17, 0x0020, 0x0001, 0x0003, b"\4\3\2\1"),
            )
        ),
        "001a  c2 0010 0001 0001 0004 01020304  11 0020 0001 0003 0004 04030201",
    ),
    "task configuration": (CONFIGURATION, CONFIGURATION_HEX),
    "report": (
        Report(METADATA, b"\x0a\x0b", LEADER_CIPHERTEXT, HELPER_CIPHERTEXT),
        f"{METADATA_HEX} 00000002 0a0b {LEADER_CIPHERTEXT_HEX} {HELPER_CIPHERTEXT_HEX}",
    ),
    "upload of two reports": (
        UploadRequest(
            (
                Report(ReportMetadata(bytes(16), 1), b"", LEADER_CIPHERTEXT, HELPER_CIPHERTEXT),
                Report(ReportMetadata(REPORT_ID, 1), b"", LEADER_CIPHERTEXT, HELPER_CIPHERTEXT),
            )
        ),
        f"""{"00" * 16}     0000000000000001 0000 00000000 {LEADER_CIPHERTEXT_HEX} {HELPER_CIPHERTEXT_HEX}
            {REPORT_ID_HEX} 0000000000000001 0000 00000000 {LEADER_CIPHERTEXT_HEX} {HELPER_CIPHERTEXT_HEX}""",
    ),
    "upload of none": (UploadRequest(()), ""),
    "upload errors": (
        UploadErrors(
            (
                ReportUploadStatus(REPORT_ID, ReportError.REPORT_REPLAYED),
                ReportUploadStatus(bytes(16), ReportError.OUTDATED_CONFIG),
            )
        ),
        f"{REPORT_ID_HEX} 02 {'00' * 16} 0b",
    ),
    "plaintext input share": (
        PlaintextInputShare((Extension(1, b"\xff"),), b"\xaa\xbb"),
        "0005 0001 0001 ff 00000002 aabb",
    ),
    "input share aad": (
        InputShareAad(TASK_ID, CONFIGURATION, METADATA, b"\x0a\x0b"),
        f"{TASK_ID.hex()} {CONFIGURATION_HEX} {METADATA_HEX} 00000002 0a0b",
    ),
    "aggregation job init": (
        AggregationJobInitReq(
            0, b"\x07", (leader_selected_batch_id_extension(b"\x1f" * 32),), (VERIFY_INIT,)
        ),
        f"00 00000001 07 0024 0001 0020 {'1f' * 32} {VERIFY_INIT_HEX}",
    ),
    "aggregation job answer": (
        AggregationJobResp(
            (
                VerifyResp(REPORT_ID, Continue(b"\x01\x02")),
                VerifyResp(REPORT_ID, Finish()),
                VerifyResp(REPORT_ID, Reject(ReportError.VDAF_VERIFY_ERROR)),
            )
        ),
        f"{REPORT_ID_HEX} 00 00000002 0102  {REPORT_ID_HEX} 01  {REPORT_ID_HEX} 02 06",
    ),
    "aggregation job continuation": (
        AggregationJobContinueReq(1, (VerifyContinue(REPORT_ID, b"\x09"),)),
        f"0001 {REPORT_ID_HEX} 00000001 09",
    ),
    "query of the next batch": (Query.of_next_batch(), "02 0000"),
    "collection job": (COLLECTION_JOB, COLLECTION_JOB_HEX),
    "collection job answer": (
        CollectionJobResp(1000, Interval(16595440, 1), LEADER_CIPHERTEXT, HELPER_CIPHERTEXT),
        f"00000000000003e8 0000000000fd39f0 0000000000000001 {LEADER_CIPHERTEXT_HEX} {HELPER_CIPHERTEXT_HEX}",
    ),
    "aggregate share request": (
        AggregateShareReq(COLLECTION_JOB, BatchSelector.of_batch(b"\x0a" * 32), 1000, b"\x0b" * 32),
        f"{COLLECTION_JOB_HEX} 02 0020 {'0a' * 32} 00000000000003e8 {'0b' * 32}",
    ),
    "aggregate share": (AggregateShare(HELPER_CIPHERTEXT), HELPER_CIPHERTEXT_HEX),
    "aggregate share aad": (
        AggregateShareAad(TASK_ID, CONFIGURATION, COLLECTION_JOB),
        f"{TASK_ID.hex()} {CONFIGURATION_HEX} {COLLECTION_JOB_HEX}",
    ),
}


@pytest.mark.parametrize(("message", "encoded"), VECTORS.values(), ids=VECTORS)
def test_encode_gives_the_bytes_worked_out_by_hand(message, encoded):
    assert message.encode().hex(" ") == bytes.fromhex(encoded).hex(" ")
    assert type(message).decode(bytes.fromhex(encoded)) == message


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"time_precision": 0}, "time_precision"),
        ({"min_batch_size": 0}, "min_batch_size"),
        ({"batch_config": b"?"}, "batch_config"),
        ({"task_info": b""}, "task_info"),
        ({"leader_aggregator_endpoint": ""}, "leader_aggregator_endpoint"),
        ({"helper_aggregator_endpoint": "https://hélper"}, "helper_aggregator_endpoint"),
        ({"extensions": (Extension(2, b""),)}, "extensions"),
        ({"extensions": CONFIGURATION.extensions * 2}, "extensions"),
        ({"extensions": (Extension(1, bytes(15)),)}, "duration"),
        ({"extensions": (Extension(1, bytes(17)),)}, ""),
    ],
)
def test_task_configuration_that_nobody_could_run_is_refused(changes, field):
    with pytest.raises(InvalidMessageError) as caught:
        dataclasses.replace(CONFIGURATION, **changes).encode()
    assert caught.value.field == field


HPKE_CONFIG = HpkeConfig(7, 0x20, 1, 1, bytes(32))
ANOTHER_OF_THE_SAME_ID = dataclasses.replace(HPKE_CONFIG, public_key=b"other")
SWAPPED, TWICE = (tuple(Extension(type_, b"") for type_ in types) for types in ((2, 1), (1, 1)))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (HpkeConfigList((HPKE_CONFIG, ANOTHER_OF_THE_SAME_ID)), "distinct ids"),
        (AggregationJobInitReq(0, b"", (), (VERIFY_INIT,) * 2), "distinct report ids"),
        (AggregationJobInitReq(0, b"", SWAPPED, ()), "ascending"),
        (AggregationJobInitReq(0, b"", TWICE, ()), "ascending"),
        (AggregationJobContinueReq(0, ()), "step must be at least 1"),
        (CollectionJobReq(QUERY, b"", SWAPPED), "ascending"),
    ],
)
def test_message_that_contradicts_itself_is_refused_at_encoding(message, reason):
    with pytest.raises(InvalidMessageError, match=reason):
        message.encode()


AN_UNKNOWN_MODE = [CONFIGURATION.encode().replace(b"\0d\1", b"\0d" + bytes([mode])) for mode in (0, 3, 255)]


@pytest.mark.parametrize(
    ("message", "encoded", "reason"),
    [
        *((TaskConfiguration, encoded, "batch_mode must be a BatchMode") for encoded in AN_UNKNOWN_MODE),
        (TaskConfiguration, CONFIGURATION.encode().replace(b"http://h", b"http://\xff"), "must be ASCII"),
        (HpkeConfigList, bytes(2), "configs must have"),
        (AggregationJobInitReq, bytes(7) + VERIFY_INIT.encode() * 2, "distinct report ids"),
        (AggregationJobContinueReq, bytes(2), "step must be at least 1"),
        (CollectionJobReq, f"{QUERY_HEX} 00000000 0008 0002 0000 0001 0000", "ascending"),
        *((Query, encoded, None) for encoded in ("01 0000", "01 000f" + "00" * 15, "02 0001 00", "03 0000")),
        *(
            (BatchSelector, encoded, None)
            for encoded in ("01 0020" + "00" * 32, "02 0010" + "00" * 16, "02 0000")
        ),
    ],
)
def test_bytes_of_a_message_that_contradicts_itself_are_refused(message, encoded, reason):
    with pytest.raises(InvalidMessageError, match=reason):
        message.decode(encoded if isinstance(encoded, bytes) else bytes.fromhex(encoded))


def test_collection_job_with_unordered_extensions_has_an_error_of_its_own():
    with pytest.raises(InvalidExtensionError):
        CollectionJobReq(QUERY, b"", SWAPPED).encode()


def test_task_interval_is_that_of_the_extension_or_none():
    assert CONFIGURATION.task_interval == Interval(1659544, 2)
    assert dataclasses.replace(CONFIGURATION, extensions=()).task_interval is None


@pytest.mark.parametrize(
    ("inner", "enclosed"),
    [((5, 4), True), ((6, 2), True), ((4, 3), False), ((8, 2), False), ((4, 9), False)],
)
def test_interval_encloses_those_that_lie_within_it(inner, enclosed):
    assert Interval(5, 4).encloses(Interval(*inner)) is enclosed


def test_leader_selected_batch_id_is_that_of_the_only_extension():
    batch_id = bytes(range(32))
    extension = leader_selected_batch_id_extension(batch_id)
    assert AggregationJobInitReq(0, b"", (extension,), ()).leader_selected_batch_id() == batch_id
    assert AggregationJobInitReq(0, b"", (), ()).leader_selected_batch_id() is None
    with pytest.raises(InvalidMessageError):
        AggregationJobInitReq(0, b"", (Extension(1, b"short"),), ()).leader_selected_batch_id()
    with pytest.raises(UnsupportedExtensionError) as caught:
        AggregationJobInitReq(
            0, b"", (extension, Extension(9, b""), Extension(42, b"")), ()
        ).leader_selected_batch_id()
    assert caught.value.types == (9, 42)


def test_batch_selector_is_consistent_with_a_query_that_encloses_it():
    inside, outside = (BatchSelector.of_interval(Interval(*span)) for span in ((2, 3), (1, 3)))
    batch = BatchSelector.of_batch(bytes(32))
    query = Query.of_interval(Interval(2, 5))
    assert inside.is_consistent_with(query)
    assert not outside.is_consistent_with(query)
    assert not batch.is_consistent_with(query)
    assert batch.is_consistent_with(Query.of_next_batch())
    assert not inside.is_consistent_with(Query.of_next_batch())


def test_report_error_reason_is_the_drafts_spelling():
    assert ReportError(2).reason == "report_replayed"
    assert [error.value for error in ReportError] == list(range(1, 12))
