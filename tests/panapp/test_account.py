"""`account` as it is run: JSON lines in, JSON lines out, and nothing else."""

import io
import json
import math
import os
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import call_command

from ledger.management.commands import account
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ask(monkeypatch, capsys):
    def run(*lines):
        content = b"".join(
            (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
        )
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        out = io.StringIO()
        call_command("account", stdout=out)
        assert capsys.readouterr() == ("", "")
        return [json.loads(line) for line in out.getvalue().splitlines()]

    return run


RESPONSE = {"mechanism": "randomized_response", "n": 10_000, "epsilon0": 2, "delta": 1e-6}
ONE_HOT = {"mechanism": "one_hot", "n": 10_000, "k": 10, "epsilon0": 2, "delta": 1e-6}
GAUSSIAN = {"mechanism": "gaussian", "sigma": 5.1, "sampling_rate": 0.02, "rounds": 2_500, "delta": 1e-8}
DISCRETE = {"mechanism": "discrete_gaussian_sum", "n": 10_000, "range": 10, "scale": 0.47384, "delta": 1e-6}
SHUFFLED = {"mechanism": "shuffled", "n": 10_000, "epsilon0": 4, "delta": 1e-10}


def without(question, name, **added):
    return {key: value for key, value in question.items() if key != name} | added


@pytest.mark.parametrize(("question", "name", "value", "relation"), [
    (RESPONSE, "epsilon", 0.08702, "replace"),
    ({**RESPONSE, "n": 1_000, "epsilon0": 1}, "epsilon", 0.12661, "replace"),
    ({**RESPONSE, "sampling_rate": 0.1}, "epsilon", 0.02516, "replace"),
    ({**ONE_HOT, "relation": "replace"}, "epsilon", 0.12504, "replace"),
    ({**ONE_HOT, "relation": "add_remove"}, "epsilon", 0.08702, "add_remove"),
    (GAUSSIAN, "epsilon", 1.0204, "add_remove"),
    ({**GAUSSIAN, "rounds": 1}, "epsilon", 0.026276, "add_remove"),
    (without(without(GAUSSIAN, "rounds"), "sampling_rate"), "epsilon", 1.0000638, "add_remove"),
    (DISCRETE, "epsilon", 1.0, "replace"),
    (SHUFFLED, "epsilon", 0.60526, "replace"),
    (without(RESPONSE, "epsilon0", epsilon=1), "epsilon0", 5.68900, "replace"),
    (without(DISCRETE, "scale", epsilon=1), "scale", 0.47383, "replace"),
    (without(GAUSSIAN, "sigma", epsilon=1.0204271), "sigma", 5.1, "add_remove"),
    (without(SHUFFLED, "n", epsilon=0.6052560), "n", 10_000, "replace"),
])  # fmt: skip
def test_account_answers_with_the_reference_numbers(ask, question, name, value, relation):
    (answer,) = ask(question)
    assert answer[name] == pytest.approx(value, rel=2e-4)
    assert answer["relation"] == relation
    assert answer["delta"] == question["delta"]
    assert answer["method"]
    assert answer["seconds"] >= 0


def test_account_gives_a_proved_bound_beside_a_found_number(ask):
    for answer in ask({**RESPONSE, "sampling_rate": 0.1}, ONE_HOT):
        assert not answer["proved"]
        assert answer["epsilon"] < answer["proved_epsilon"] < 2 * answer["epsilon"]
    for answer in ask(RESPONSE, GAUSSIAN):
        assert answer["proved"]
        assert answer["proved_epsilon"] == answer["epsilon"]


@pytest.mark.parametrize(("line", "named"), [
    (b"", "line"),
    (b"{", "line"),
    (b"\xff{}", "line"),
    (b"[" * 50_000, "line"),
    (b'{"n": ' + b"9" * 5_000 + b"}", "line"),
    (b'{"mechanism": "gaussian", "sigma": NaN, "delta": 1e-6}', "line"),
    (b'{"mechanism": "gaussian", "sigma": -Infinity, "delta": 1e-6}', "line"),
    (b'{"mechanism": "gaussian", "sigma": 1e999, "delta": 1e-6}', "sigma"),
    (b'{"delta": 0.1, "delta": 0.2}', "line"),
    (b" " * 70_000 + b"{}", "line"),
    ([RESPONSE], "question"),
    (None, "question"),
    (without(RESPONSE, "mechanism"), "mechanism"),
    ({**RESPONSE, "mechanism": "laplace"}, "mechanism"),
    ({**RESPONSE, "mechanism": ["gaussian"]}, "mechanism"),
    (without(RESPONSE, "delta"), "delta"),
    ({**RESPONSE, "delta": 0}, "delta"),
    ({**RESPONSE, "delta": 1}, "delta"),
    ({**RESPONSE, "delta": -1e-6}, "delta"),
    ({**RESPONSE, "delta": "1e-6"}, "delta"),
    ({**RESPONSE, "delta": True}, "delta"),
    ({**RESPONSE, "n": 0}, "n"),
    ({**RESPONSE, "n": 1.5}, "n"),
    ({**RESPONSE, "n": True}, "n"),
    ({**RESPONSE, "n": None}, "n"),
    ({**RESPONSE, "n": 10**400}, "n"),
    ({**RESPONSE, "n": 10**10, "sampling_rate": 0.5}, "n"),
    ({**ONE_HOT, "n": 10**8}, "n"),
    ({**SHUFFLED, "n": 10**12}, "n"),
    ({**RESPONSE, "sampling_rate": 0}, "sampling_rate"),
    ({**RESPONSE, "colour": 1}, "colour"),
    ({**ONE_HOT, "relation": "add"}, "relation"),
    ({**DISCRETE, "range": 0}, "range"),
    (without(DISCRETE, "range", value_range=10), "value_range"),
    (without(DISCRETE, "range"), "range"),
    ({**GAUSSIAN, "rounds": 10**9}, "rounds"),
    ({**RESPONSE, "epsilon": 1}, "epsilon"),
    (without(without(RESPONSE, "n"), "epsilon0", epsilon=1), "epsilon"),
    (without(RESPONSE, "n", epsilon=0), "epsilon"),
    (without(DISCRETE, "n", epsilon=1e-8, delta=1e-12), "n"),
    (without(RESPONSE, "n"), "n"),
])  # fmt: skip
def test_account_names_what_is_wrong_with_one_line_and_answers_the_next(ask, line, named):
    refused, answered = ask(line, RESPONSE)
    assert refused["error"].startswith(f"{named}: ")
    assert refused["field"] == named
    assert answered["epsilon"] == pytest.approx(0.08702, rel=1e-4)


@pytest.mark.parametrize("seed", [9, pytest.param(10, marks=pytest.mark.long)])
def test_account_answers_every_line_whatever_it_is(ask, seed):
    """Extreme parameters, of which few are allowed, and what is none; each line has an answer."""
    source = random.Random(seed)
    values = [
        *(1e-7, 1e-6, 1e-3, 0.3, 0.5, 1, 2, 50, 1e6, 1e9, 1e300, 5e-324, 0, -1, 10**30),
        *(None, "1", [], {}, True),
    ]
    fields = {
        "gaussian": ["sigma", "sampling_rate", "rounds"],
        "randomized_response": ["n", "epsilon0"],
        "one_hot": ["n", "k", "epsilon0"],
        "vector_coin": ["n", "k", "epsilon0"],
        "discrete_gaussian_sum": ["n", "scale", "range"],
        "shuffled": ["n", "epsilon0"],
    }
    lines = []
    for name, allowed in fields.items():
        for _ in range(6):
            line = {field: source.choice(values) for field in allowed if source.random() < 0.9}
            line |= {"mechanism": name, "delta": source.choice([1e-32, 1e-8, 1e-3, 0.999, *values])}
            if source.random() < 0.3:
                line["epsilon"] = source.choice(values)
            lines.append(line)
    answers = ask(*lines)
    assert len(answers) == len(lines)
    for answer in answers:
        assert ("error" in answer) != ("method" in answer)
    assert any("method" in answer for answer in answers)


@pytest.mark.parametrize(
    "raised", [ValueError("math domain error"), OverflowError(), RuntimeError(), KeyError("x")]
)
def test_account_answers_the_next_line_whatever_one_raises(ask, monkeypatch, raised):
    def failing(question):
        if question == {}:
            raise raised
        return {"epsilon": math.inf if question == [] else 1.0}

    monkeypatch.setattr(account, "answer", failing)
    first, second, third = ask({}, [], RESPONSE)
    assert type(raised).__name__ in first["error"]
    assert "cannot be computed" in second["error"]
    assert third["epsilon"] == 1.0


@pytest.mark.parametrize("question", [
    {**RESPONSE, "n": 10**12, "epsilon0": 50, "delta": 0.3},
    {**RESPONSE, "n": 10**12, "epsilon0": 30, "delta": 1e-32},
    without(RESPONSE, "n", epsilon0=50, epsilon=1.65, delta=0.3),
    pytest.param({**RESPONSE, "n": 10**9, "epsilon0": 50, "sampling_rate": 0.8}, marks=pytest.mark.long),
    pytest.param({**GAUSSIAN, "sigma": 0.3, "rounds": 10**6, "delta": 1e-32}, marks=pytest.mark.long),
])  # fmt: skip
def test_account_answers_extreme_lines_with_bounded_work(ask, question, monkeypatch):
    """Of which some took gigabytes, and the load of the machine decided whether they had an answer."""
    now = [0.0]

    def late():
        now[0] += 1e6
        return now[0]

    monkeypatch.setattr(account, "time", SimpleNamespace(monotonic=late))
    tracemalloc.start()
    try:
        (answer,) = ask(question)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**29
    assert answer.get("field") == "n" if "epsilon" in question else answer["epsilon"] > 0


def test_account_answers_each_line_at_once_without_a_database(tmp_path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PANAPP_")}
    environment |= {"PANAPP_DATA_DIR": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path}/none.sqlite3"}
    command = [sys.executable, str(ROOT / "manage.py"), "account"]
    # Half a surrogate pair cannot be written as UTF-8; the answer has to be all the same.
    unwritable = {"mechanism": "gaussian", "delta": 0.1, "\ud800": 1}
    answers = []
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        for question in (RESPONSE, {"mechanism": "none"}, unwritable, SHUFFLED):
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait(timeout=PATIENCE) == 0
    assert ["error" in answer for answer in answers] == [False, True, True, False]
    assert answers[0]["epsilon"] == pytest.approx(0.08702, rel=2e-4)
    assert not (tmp_path / "none.sqlite3").exists()
