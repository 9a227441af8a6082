"""Files of tasks as Janus reads and writes them."""

from dataclasses import replace

import pytest

from dap.task_files import LARGEST_FILE, TaskParameters, task_file_read, task_file_write
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.dap.basics import BatchMode, HpkeConfig, Interval
from panprivacy.protocols.dap.task import TaskConfiguration, task_interval_extension
from panprivacy.protocols.dap.tokens import BEARER, DAP_AUTH, Token, TokenHash
from panprivacy.protocols.dap.vdafs import (
    Prio3CountConfig,
    Prio3HistogramConfig,
    Prio3SumConfig,
    Prio3SumVecConfig,
)

COLLECTOR = HpkeConfig(183, 0x20, 1, 1, bytes(range(32)))
VDAFS = {
    1: Prio3CountConfig(),
    2: Prio3SumConfig(4096),
    3: Prio3SumVecConfig(8, 255, 3),
    4: Prio3HistogramConfig(4, 2),
}

AS_JANUS_HAS_IT = """\
# A comment.
-
  task_id: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
  peer_aggregator_endpoint: "https://leader.example/dap/"
  own_aggregator_endpoint: "https://helper.example/helper/"
  batch_mode: !LeaderSelected
    batch_time_window_size: null
  aggregation_mode: Synchronous
  vdaf: !Prio3Histogram
    length: 4
    chunk_length: 2
  role: Helper
  vdaf_verify_key: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
  task_info: "dGFzay1pbmZv"
  task_start: 0
  task_duration: 946716
  report_expiry_age: null
  min_batch_size: 100
  time_precision: 1800
  tolerable_clock_skew: 1
  collector_hpke_config:
    id: 183
    kem_id: X25519HkdfSha256
    kdf_id: HkdfSha256
    aead_id: Aes128Gcm
    public_key: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8
  aggregator_auth_token_hash:
    type: "Bearer"
    hash: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
  collector_auth_token_hash:
  hpke_keys: []
"""


def configuration(vdaf_type: int = 4, mode: BatchMode = BatchMode.LEADER_SELECTED) -> TaskConfiguration:
    return TaskConfiguration(
        task_info=b"task-info",
        leader_aggregator_endpoint="https://leader.example/dap/",
        helper_aggregator_endpoint="https://helper.example/helper/",
        time_precision=1800,
        min_batch_size=100,
        batch_mode=mode,
        batch_config=b"",
        vdaf_type=vdaf_type,
        vdaf_configuration=VDAFS[vdaf_type].encode(),
        extensions=(task_interval_extension(Interval(0, 946716)),),
    )


def helper(**changes: TaskConfiguration) -> TaskParameters:
    return TaskParameters(
        role="Helper",
        task_id=bytes(range(32)),
        configuration=changes.get("configuration", configuration()),
        verify_key=bytes(32),
        collector_config=COLLECTOR,
        token_hash=TokenHash(BEARER, bytes(32)),
    )


def test_file_of_janus_is_read_byte_for_byte() -> None:
    read = task_file_read(AS_JANUS_HAS_IT.encode())
    assert read == helper()
    assert read.configuration.encode() == configuration().encode()
    assert (read.own_url, read.peer_url) == ("https://helper.example/helper", "https://leader.example/dap")


@pytest.mark.parametrize("vdaf_type", VDAFS)
@pytest.mark.parametrize("mode", BatchMode)
def test_written_file_is_read_again_as_the_same_task(vdaf_type: int, mode: BatchMode) -> None:
    parameters = helper(configuration=configuration(vdaf_type, mode))
    assert task_file_read(task_file_write(parameters).encode()) == parameters
    leader = TaskParameters(
        role="Leader",
        task_id=parameters.task_id,
        configuration=parameters.configuration,
        verify_key=parameters.verify_key,
        collector_config=COLLECTOR,
        token=Token(DAP_AUTH, "a:b"),
        collector_token_hash=TokenHash(DAP_AUTH, bytes(32)),
    )
    assert task_file_read(task_file_write(leader).encode()) == leader


@pytest.mark.parametrize(
    ("was", "becomes", "field"),
    [
        ("role: Helper", "role: Collector", "role"),
        ("role: Helper", "role: [Helper]", "role"),
        ("role: Helper", "role: !!bool maybe", "file"),
        ("role: Helper", 'role: !!int ""', "file"),
        ("role: Helper", "role: !!timestamp x", "file"),
        ("role: Helper", "role: 1" + ":59" * 10_000 + ".5", "file"),
        ("role: Helper", "role: Leader", "aggregator_auth_token"),
        ("task_start: 0", "task_start: -1", "task_start"),
        ("task_start: 0", "", "task_start"),
        ("time_precision: 1800", "time_precision: 0", "time_precision"),
        ("time_precision: 1800", "time_precision: true", "time_precision"),
        ("min_batch_size: 100", "min_batch_size: 1e2", "min_batch_size"),
        ("batch_mode: !LeaderSelected", "batch_mode: !Other", "batch_mode"),
        ("!Prio3Histogram", "!Prio3SumVecField64MultiproofHmacSha256Aes128", "vdaf"),
        ("length: 4", "length: -4", "vdaf"),
        ("length: 4", "other: 4", "vdaf"),
        ("length: 4", "length: 4\n    dp_strategy: {dp_strategy: PureDpDiscreteLaplace}", "vdaf"),
        ("dGFzay1pbmZv", "dGFzay1pbmZv=", "task_info"),
        ("dGFzay1pbmZv", "", "task_info"),
        ("Bearer", "Basic", "aggregator_auth_token_hash"),
        ("kem_id: X25519HkdfSha256", "kem_id: Other", "collector_hpke_config.kem_id"),
        ("X25519HkdfSha256\n    kdf_id: HkdfSha256", "X25519HkdfSha256", "collector_hpke_config"),
        ("id: 183", "id: 183\n    kid: 1", "collector_hpke_config"),
        ("id: 183", "id: 256", "collector_hpke_config.id"),
        ("id: 183", "id: -1", "collector_hpke_config.id"),
        ("public_key: A", "public_key: =", "collector_hpke_config.public_key"),
        ('type: "Bearer"', "type: 1", "aggregator_auth_token_hash.type"),
        ('hash: "A', 'hash: "=', "aggregator_auth_token_hash.hash"),
        ("https://leader.example/dap/", "https://l\u00e9ader.example/", "peer_aggregator_endpoint"),
        ("hpke_keys: []", "hpke_kys: []", "hpke_kys"),
        ("hpke_keys: []", "hpke_keys: &a []\n  task_id: *a", "file"),
        ("hpke_keys: []", "hpke_keys: !!python/object/apply:os.system [true]", "file"),
        ("# A comment.", "# " + "a" * LARGEST_FILE, "file"),
        ("# A comment.", "[" * 3000, "file"),
        ("# A comment.", "- {}", "file"),
        ("# A comment.", "\x01", "file"),
    ],
)
def test_file_that_is_none_of_a_task_names_the_field(was: str, becomes: str, field: str) -> None:
    content = AS_JANUS_HAS_IT.replace(was, becomes, 1)
    assert content != AS_JANUS_HAS_IT
    with pytest.raises(FieldError) as refused:
        task_file_read(content.encode())
    assert refused.value.field == field


@pytest.mark.parametrize("number", [-1, 256])
def test_identifier_of_a_configuration_is_refused_with_its_range(number: int) -> None:
    content = AS_JANUS_HAS_IT.replace("id: 183", f"id: {number}")
    with pytest.raises(
        FieldError, match=r"^collector_hpke_config\.id: must be a whole number from 0 to 255$"
    ):
        task_file_read(content.encode())


def test_algorithm_that_janus_lacks_is_refused_with_those_it_has() -> None:
    unknown = replace(helper(), collector_config=replace(COLLECTOR, kem_id=0x9999))
    with pytest.raises(
        FieldError, match=r"^collector_hpke_config\.kem_id: must be one of P256HkdfSha256, .*"
    ):
        task_file_write(unknown)


def test_task_that_janus_cannot_run_is_not_written() -> None:
    multihot = replace(configuration(), vdaf_type=5, vdaf_configuration=bytes(16))
    with pytest.raises(FieldError, match="vdaf: must be one of Prio3Count"):
        task_file_write(helper(configuration=multihot))
