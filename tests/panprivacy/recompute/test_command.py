"""`python -m panprivacy.recompute`: what holds, what it rests on, and its exit codes."""

import dataclasses
import json
import random
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from panprivacy.protocols.transparency import signed_note
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.cosignature import cosign
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, ED25519, Note, VerifierKey
from panprivacy.recipe.accepted_list import SHOWN_BYTES
from panprivacy.recompute import reports
from panprivacy.recompute.__main__ import BY_THE_BUNDLE, BY_THE_POLICY, main
from panprivacy.recompute.checks import CHECKS, Recomputation
from tests.panprivacy.device.public_log import LOG, ORIGIN, WITHOUT_WITNESSES
from tests.panprivacy.recipe.log.test_wrong_types import changed
from tests.panprivacy.recompute.scene import (
    HELPER_KEY,
    Scene,
    edit,
    json_of,
    log_of,
    proof_at,
    scene,
    the_scene,
    valid_files,
    written,
)

ANSWER = "Devices with at least one event: 6.0 by estimate, 95% interval 3.0 to 9.0, from 12 reports."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "bundle", valid_files())


def policy_file(folder: Path, text: str) -> str:
    file = folder / "policy"
    file.write_text(text)
    return str(file)


def test_bundle_that_holds_prints_every_check_and_the_answer(folder, tmp_path, capsys) -> None:
    assert main([str(folder)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    *lines, others, last = shown.out.splitlines()
    assert [line[:26].rstrip() for line in lines] == [f"holds  {name}:" for name in CHECKS]
    assert others == "Not recomputed: admission, plan, rejected, released_at, servers, software."
    assert last == f"{ANSWER} {BY_THE_BUNDLE}"
    assert main([str(folder), "--policy", policy_file(tmp_path, WITHOUT_WITNESSES)]) == 0
    printed = capsys.readouterr().out
    assert "the site's key of the policy signed it.\n" in printed
    assert f"in the log {ORIGIN}, which the site signed, and no witness.\n" in printed
    assert printed.endswith(f"{ANSWER} {BY_THE_POLICY}\n")


def test_what_only_a_simulation_knows_is_named_as_unsigned(tmp_path, capsys) -> None:
    files = scene(simulation=True).files()
    edit(files, "result.json", lambda result: result.update(truth=[3.0], devices=12, sampled=12))
    assert main([str(written(tmp_path / "bundle", files))]) == 0
    line = "Not signed, as only a simulation knows them: devices, sampled, truth."
    assert line in capsys.readouterr().out.splitlines()


def test_bundle_with_dummies_recomputes_without_a_bias(tmp_path, capsys) -> None:
    """At ε = 20 a coin falls with 2e-9: of 6 devices with an event, those without a one sent a dummy."""
    hidden = {"hidden_count": {"epsilon": 1, "delta": 1e-6}, "sampling_rate": 0.05, "population_size": 1_000}
    made = scene(epsilon=20, **hidden)
    assert 0 < made.count < 6
    assert made.recipe.dummies is not None
    folder = written(tmp_path / "bundle", made.files())
    assert main([str(folder)]) == 0
    # A report counts with the sampling rate, as without dummies.
    assert f"event: {made.count / 0.05:,.1f} by estimate" in capsys.readouterr().out
    result = json.loads((folder / "result.json").read_text())
    assert "count" in {guarantee["model"] for guarantee in result["guarantees"]}


def test_json_has_every_check_and_the_answer(folder, capsys) -> None:
    assert main([str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in found.pop("checks")] == list(CHECKS)
    assert found == {
        "holds": True,
        "pinned": False,
        "not_recomputed": ["admission", "plan", "rejected", "released_at", "servers", "software"],
        "not_signed": [],
        "answer": ANSWER,
    }
    (folder / "reports.bin").write_bytes(b"")
    assert main([str(folder), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [check["holds"] for check in found["checks"]] == [False]
    assert (found["holds"], found["answer"]) == (False, None)


def test_policy_of_another_site_fails_the_recipe(folder, tmp_path, capsys) -> None:
    stranger = VerifierKey(ORIGIN, ED25519, HELPER_KEY.public_key().public_bytes_raw())
    assert main([str(folder), "--policy", policy_file(tmp_path, f"log {stranger.text}\nquorum none\n")]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("fails  recipe:             the site's key in bundle.json is not the key of a log")


def test_policy_asks_each_proof_for_its_witnesses(folder, tmp_path, capsys) -> None:
    witness = VerifierKey("W.example", COSIGNATURE, HELPER_KEY.public_key().public_bytes_raw())
    policy = policy_file(tmp_path, f"log {LOG.text}\nwitness W {witness.text}\nquorum W\n")
    assert main([str(folder), "--policy", policy]) == 1
    refused = capsys.readouterr().out.splitlines()[-1]
    assert refused.startswith("fails  recipe in the log:  the quorum W is not reached")
    log = log_of(the_scene().recipe.identifier, the_scene().accepted(), json_of(valid_files(), "result.json"))
    checkpoint = Checkpoint(ORIGIN, log.size, log.checkpoint.root)
    log.cosignatures[checkpoint] = cosign(checkpoint, "W.example", HELPER_KEY, time=1).line
    for name, index in (("recipe.proof", 3), ("list.proof", 5), ("result.proof", 7)):
        (folder / name).write_bytes(proof_at(log, index))
    assert main([str(folder), "--policy", policy]) == 0
    assert capsys.readouterr().out.count("which the site signed, and W.example.") == 3


def test_wrong_use_ends_with_2_and_says_why(folder, tmp_path, capsys) -> None:
    for arguments, message in (
        ([str(tmp_path / "missing")], "is no folder"),
        ([str(folder), "--workers", "0"], "must be a whole number from 1 to 1,024"),
        ([], "the following arguments are required: DIR"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2
        assert message in capsys.readouterr().err
    assert main([str(folder), "--policy", str(tmp_path / "missing")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main([str(folder), "--policy", policy_file(tmp_path, "trust me")]) == 2
    assert "line 1: must begin with" in capsys.readouterr().err


def test_progress_is_one_line_on_a_terminal_and_gone_at_the_end(folder, capsys, monkeypatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main([str(folder)]) == 0
    written_over = [text for text in capsys.readouterr().err.split("\r") if text.strip()]
    assert written_over == ["tokens: 12 of 12 reports", "proofs: 12 of 12 reports"]


def test_fewer_reports_than_the_cohort_size_fail_the_guarantees(tmp_path) -> None:
    *_, last = Recomputation(written(tmp_path, scene(4).files()), source=random.SystemRandom).lines()
    assert (last.name, last.sentence) == ("guarantees", "4 reports are fewer than the cohort size of 5")


def test_proof_of_a_log_that_is_not_the_sites_own_fails(folder, tmp_path, capsys) -> None:
    """The policy has two logs; the site's key is the other one's."""
    stranger = VerifierKey("other.example", ED25519, HELPER_KEY.public_key().public_bytes_raw())
    text = f"log {stranger.text}\n{WITHOUT_WITNESSES}"
    log = log_of(the_scene().recipe.identifier, the_scene().accepted(), json_of(valid_files(), "result.json"))
    checkpoint = Checkpoint("other.example", log.size, log.checkpoint.root)
    note = Note(checkpoint.text, (signed_note.sign(checkpoint.text, "other.example", HELPER_KEY),)).encode()
    log.note = lambda: note
    (folder / "recipe.proof").write_bytes(proof_at(log, 3))
    assert main([str(folder), "--policy", policy_file(tmp_path, text)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "fails  recipe in the log:  the log other.example is not the site's own"


# Parts ------------------------------------------------------------------------


@cache
def in_parts() -> Scene:
    """Its list has parts of five reports."""
    return scene(cut=5)


@pytest.mark.parametrize("processes", [1, 2])
def test_parts_are_checked_alike_in_one_process_and_in_two(processes, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(reports, "PART_REPORTS", 5)
    seen: list[tuple[str, int, int]] = []
    found = Recomputation(
        written(tmp_path, in_parts().files()),
        source=random.SystemRandom,
        processes=processes,
        progress=lambda *shown: seen.append(shown),
    )
    assert all(line.holds for line in found.lines())
    assert seen == [(name, reports, 12) for name in ("tokens", "proofs") for reports in (5, 10, 12)]
    assert found.count == the_scene().count


@pytest.mark.parametrize(
    ("of", "expected"),
    [(4, "reports: report 6 has the token of the one before it"), (0, "reports: report 6 is out of order")],
)
def test_order_holds_from_part_to_part(of: int, expected: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(reports, "PART_REPORTS", 5)
    records = list(in_parts().records)
    records[5] = records[of]
    assert failed(tmp_path, records) == expected


def test_report_of_a_later_part_is_named_by_its_number(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(reports, "PART_REPORTS", 5)
    kept = in_parts().records
    crossed = in_parts().joint.signed(kept[1][SHOWN_BYTES:-96] + kept[2][-96:], random.Random(1))
    records = sorted([*kept[1:], crossed], key=lambda record: record[18:34])
    place = records.index(crossed)
    assert place >= 5
    assert failed(tmp_path, records) == f"proofs: report {place + 1}: its proof does not hold"


def failed(folder: Path, records: list[bytes]) -> str:
    """The last line of a bundle with these reports instead."""
    files = in_parts().files() | {"reports.bin": b"".join(records)}
    *_, last = Recomputation(written(folder, files), source=random.SystemRandom).lines()
    return f"{last.name}: {last.sentence}"


# Hostile results --------------------------------------------------------------


def test_wrong_type_anywhere_in_the_result_is_a_failed_check(folder, monkeypatch) -> None:
    found = Recomputation(folder, source=random.SystemRandom)
    assert all(line.holds for line in found.lines())
    bundle, names = found.bundle, list(CHECKS)
    later = names[names.index("result's recipe") :]
    for name in ("estimate", "guarantees"):
        # The same each time.
        monkeypatch.setattr(found.statistic, name, cache(getattr(found.statistic, name)))
    # They are many, and compared like the other fields.
    guarantees = {"guarantees": bundle.result["guarantees"]}
    result: dict[str, Any] = {name: value for name, value in bundle.result.items() if name not in guarantees}
    for wrong in changed(result):
        if not isinstance(wrong, dict) or wrong == result:
            continue
        found.bundle = dataclasses.replace(bundle, result=guarantees | wrong)
        with pytest.raises((ValueError, ArithmeticError, RecursionError)):
            for name in later:
                CHECKS[name](found)
