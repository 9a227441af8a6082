"""The command that checks vectors, on official ones where they are, and on changed and made-up ones."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from panprivacy.formats.vector_files import VectorError
from panprivacy.protocols.prio3 import ping_pong
from panprivacy.protocols.prio3.__main__ import main
from panprivacy.protocols.prio3.batch_xof import WORTH_A_BATCH
from panprivacy.protocols.prio3.interface import ReportInput
from panprivacy.protocols.prio3.prio3 import Prio3Count
from panprivacy.protocols.prio3.vector_vdafs import VDAFS
from panprivacy.protocols.prio3.vectors import check_file
from panprivacy.protocols.prio3.verifier import Prio3Verifier
from tests.panprivacy.protocols.prio3.test_prio3 import views_of
from tests.panprivacy.protocols.prio3.variants import CONTEXT, VERIFY_KEY

ROOT = Path(__file__).resolve().parents[4]
OFFICIAL = next(
    (found for parent in ROOT.parents if (found := parent / "shared" / "vectors" / "vdaf").is_dir()), None
)
needs_official = pytest.mark.skipif(
    OFFICIAL is None, reason="the official vectors do not lie beside the project"
)


def own_vector() -> dict[str, Any]:
    """A vector of a count, as the definition computes it: good for what the checks themselves do."""
    vdaf = Prio3Count()
    nonce, rand = bytes(16), bytes(range(64))
    public, inputs = vdaf.shard(CONTEXT, 1, nonce, rand)
    views = views_of(vdaf, public, inputs, nonce=nonce)
    message = vdaf.verifier_shares_to_message(CONTEXT, [share for _, share in views])
    out_shares = [vdaf.verify_next(state, message).hex() for state, _ in views]
    steps: list[dict[str, Any]] = [
        {"operation": "shard", "report_index": 0},
        {"operation": "verify_init", "report_index": 0, "aggregator_id": 0},
        {"operation": "verify_init", "report_index": 0, "aggregator_id": 1},
        {"operation": "verifier_shares_to_message", "report_index": 0, "round": 0},
        {"operation": "verify_next", "report_index": 0, "aggregator_id": 0, "round": 1},
        {"operation": "verify_next", "report_index": 0, "aggregator_id": 1, "round": 1},
        {"operation": "aggregate", "aggregator_id": 0},
        {"operation": "aggregate", "aggregator_id": 1},
        {"operation": "unshard"},
    ]
    return {
        "agg_param": "",
        "agg_result": 1,
        "agg_shares": list(out_shares),
        "ctx": CONTEXT.hex(),
        "operations": [step | {"success": True} for step in steps],
        "reports": [
            {
                "measurement": 1,
                "nonce": nonce.hex(),
                "rand": rand.hex(),
                "public_share": public.hex(),
                "input_shares": [share.hex() for share in inputs],
                "verifier_shares": [[share.hex() for _, share in views]],
                "verifier_messages": [message.hex()],
                "out_shares": out_shares,
            }
        ],
        "shares": 2,
        "verify_key": VERIFY_KEY.hex(),
    }


def written(folder: Path, vector: Any, name: str = "Prio3Count_9.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(vector), encoding="utf-8")
    return path


def other(hexadecimal: str) -> str:
    return ("1" if hexadecimal[0] == "0" else "0") + hexadecimal[1:]


@needs_official
def test_check_vectors_of_all_official_files_passes(capsys):
    files = sorted(OFFICIAL.glob("*.json"))
    assert main(["check-vectors", *map(str, files)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(files) + 1
    assert lines[-1] == f"{len(files)} passed, 0 failed"


@needs_official
def test_verification_in_batches_of_official_reports_holds():
    """In NumPy, or compiled: many copies of one report are enough for either."""
    batches = 0
    for file in OFFICIAL.glob("Prio3*_[0-9].json"):
        vector = json.loads(file.read_bytes())
        vdaf = VDAFS[file.stem.split("_")[0]](vector)
        if vdaf.shares != 2:
            continue
        batches += 1
        report = vector["reports"][0]
        sides = [
            [ReportInput(*map(bytes.fromhex, (report["nonce"], report["public_share"], share)))]
            for share in report["input_shares"]
        ]
        verifier = Prio3Verifier(vdaf, *map(bytes.fromhex, (vector["verify_key"], vector["ctx"])))
        leader = verifier.leader_init(sides[0] * WORTH_A_BATCH)
        helper = verifier.helper_init(sides[1] * WORTH_A_BATCH, [sent.outbound for sent in leader])
        sent = ping_pong.encode_initialize(bytes.fromhex(report["verifier_shares"][0][0]))
        assert {transition.outbound for transition in leader} == {sent}
        assert {transition.out_share.hex() for transition in helper} == {report["out_shares"][1]}
    assert batches >= 4


@needs_official
def test_check_file_of_any_official_file_with_a_changed_number_fails(tmp_path):
    """Every hexadecimal string that an operation uses or expects matters."""
    for file in OFFICIAL.glob("*_0.json"):
        vector = json.loads(file.read_bytes())
        paths = [("verify_key",), ("ctx",), ("agg_shares", 1), ("reports", 0, "nonce")]
        paths += [("reports", 0, "rand"), ("reports", 0, "input_shares", 0), ("reports", 0, "out_shares", 1)]
        paths += [("reports", 0, "verifier_shares", 0, 0)]
        for path in paths:
            changed = copy.deepcopy(vector)
            holder: Any = changed
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = other(holder[path[-1]])
            with pytest.raises(VectorError):
                check_file(written(tmp_path, changed, file.name))


def test_check_vectors_prints_a_line_for_every_file_and_both_counts(tmp_path, capsys):
    good = written(tmp_path, own_vector())
    bad = written(tmp_path, own_vector() | {"agg_result": 2}, "Prio3Count_bad.json")
    assert main(["check-vectors", str(good), str(bad), str(tmp_path / "none.json")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"passed  {good}"
    assert lines[1] == f"FAILED  {bad}: operation 8 (unshard): result: is [1], not [2]"
    assert lines[2].startswith(f"FAILED  {tmp_path / 'none.json'}: cannot be read")
    assert lines[3] == "1 passed, 2 failed"


def _set(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(vector: dict[str, Any]) -> None:
        holder: Any = vector
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("reports", 0, "public_share", to="00"), "operation 0 .*public share"),
        (_set("reports", 0, "input_shares", 1, to="00" * 32), "operation 0 .*input shares"),
        (_set("reports", 0, "measurement", to=2), "operation 0 .*was refused"),
        (_set("reports", 0, "verifier_shares", 0, 1, to="00" * 32), "operation 2 .*verifier share"),
        (_set("reports", 0, "verifier_messages", 0, to="00"), "operation 3 .*verifier message"),
        (_set("reports", 0, "out_shares", 0, to="00" * 8), "operation 4 .*output share"),
        (_set("agg_shares", 1, to="00" * 8), "operation 7 .*aggregate share"),
        (_set("agg_result", to=[1, 1]), "operation 8 .*result"),
        (_set("operations", 0, "success", to=False), "operation 0 .*must be refused, and was not"),
        (_set("operations", 0, "success", to="yes"), "success must be true or false"),
        (_set("operations", 0, "operation", to="guess"), "'guess' is unknown"),
        (_set("operations", 4, "round", to=2), "operation 4 .*round must be 1"),
        (_set("operations", 1, "operation", to="verify_next"), "comes before its verify_init|'round'"),
        (_set("operations", to=[]), "nothing is checked"),
        (_set("agg_param", to="00"), "no aggregation parameter"),
        (_set("shares", to="2"), "not as the schema has it"),
        (_set("reports", to=[]), "not as the schema has it"),
        (lambda vector: vector.pop("verify_key"), "lacks the field 'verify_key'"),
    ],
)
def test_check_file_of_a_vector_that_does_not_hold_says_where(tmp_path, change, words):
    vector = own_vector()
    check_file(written(tmp_path, vector))
    change(vector)
    with pytest.raises(VectorError, match=words):
        check_file(written(tmp_path, vector))


def test_check_file_of_a_refusal_at_another_step_than_the_file_says_fails(tmp_path):
    """A share that is no element is refused by verify_init; a file that expects it later is wrong."""
    vector = own_vector()
    vector["reports"][0]["input_shares"][0] = "ff" * 48
    vector["operations"] = vector["operations"][1:4]
    vector["operations"][2]["success"] = False
    with pytest.raises(VectorError, match=r"operation 0 .*was refused"):
        check_file(written(tmp_path, vector))
    vector["operations"] = vector["operations"][:1]
    vector["operations"][0]["success"] = False
    check_file(written(tmp_path, vector))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "must be a JSON object"),
        (b"{}", "lacks the field"),
    ],
)
def test_check_file_of_what_is_no_vector_says_so(tmp_path, content, words):
    path = tmp_path / "Prio3Count_0.json"
    path.write_bytes(content)
    with pytest.raises(VectorError, match=words):
        check_file(path)


def test_check_file_of_a_folder_or_another_vdaf_says_so(tmp_path):
    with pytest.raises(VectorError, match="cannot be read"):
        check_file(tmp_path)
    with pytest.raises(VectorError, match="neither named after one of Prio3Count"):
        check_file(written(tmp_path, own_vector() | {"bits": 4}, "Poplar1_0.json"))


@pytest.mark.parametrize("member", ["length", "chunk_length"])
@pytest.mark.parametrize("size", [10**6, 2**62, 2**200])
def test_check_file_that_asks_for_all_memory_is_refused(tmp_path, member, size):
    vector = own_vector() | {"length": 4, "chunk_length": 2} | {member: size}
    with pytest.raises(VectorError, match=f"{member}: must be at most"):
        check_file(written(tmp_path, vector, "Prio3Histogram_0.json"))


@pytest.mark.parametrize("member", ["report_index", "aggregator_id", "round"])
def test_check_file_does_not_count_from_the_end(tmp_path, member):
    vector = own_vector()
    vector["operations"][4][member] = -1
    with pytest.raises(VectorError, match=f"operation 4: {member} must be at least 0"):
        check_file(written(tmp_path, vector))
