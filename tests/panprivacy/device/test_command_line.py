import base64
import io
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from panprivacy.device.__main__ import main
from panprivacy.device.commands.log import UNCHECKED
from tests.panprivacy.device.attester import MemoryAttester, problem
from tests.panprivacy.device.server import VERIFICATION_KEY, MemoryServer, listening
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.tokens import ISSUER_KEY

OTHER_KEY = base64.b64encode(ISSUER_KEY.public_key().public_bytes_raw()).decode()

KEY = base64.b64encode(VERIFICATION_KEY).decode()

LIMITS = ("--smallest-cohort", "2", "--largest-epsilon", "20", "--largest-local-epsilon", "20")
JOIN = ("--verification-key", KEY, *LIMITS)
"""The tests' cohorts are smaller than devices accept by default."""


@pytest.fixture
def state(tmp_path):
    return str(tmp_path / "state")


def join(url, server, state, *options):
    return main(["join", url, server.recipe.identifier, "--state", state, *options])


def test_main_join_steps_and_send_deliver_a_report(make_server, state, capsys):
    server = make_server(simulation=False, epsilon=20)
    with listening(server) as url:
        assert join(url, server, state, *JOIN) == 0
        assert main(["step", "--state", state, "--event"]) == 0
        assert main(["step", "--state", state, "--number", "4"]) == 0
        assert main(["send", "--state", state]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "The public log is not checked: no --log-policy.",
            f"question: {server.recipe.question}",
            "privacy loss (ε): 20 at δ = 1e-6",
            f"identifier: {server.recipe.identifier}",
            "joined “Late arrivals” (4 steps): takes part",
            "step 1 of 4 taken",
            "step 4 of 4 taken",
            "report delivered (accepted)",
        ]
        assert main(["send", "--state", state]) == 2
    assert "done with recipe" in capsys.readouterr().err
    assert server.decrypted() == [(1,)]


def test_step_takes_events_by_name_in_the_order_of_the_recipe(make_server, state, capsys):
    asked = {"statistic": "funnel", "events": ["search", "buy"], "coin": "vector"}
    server = make_server(simulation=False, epsilon=20, **asked)
    with listening(server) as url:
        assert join(url, server, state, *JOIN) == 0
        assert main(["step", "--state", state, "--event", "sell"]) == 2
        assert main(["step", "--state", state, "--event"]) == 2
        assert main(["step", "--state", state, "--event", "buy", "--event", "search"]) == 0
        assert main(["step", "--state", state, "--number", "4"]) == 0
        assert main(["send", "--state", state]) == 0
    # By the coin another one with probability 4e-9.
    assert server.decrypted() == [(0, 0, 1)]
    assert capsys.readouterr().err.splitlines() == [
        f"error: event: must be one of search, buy; not {given}" for given in ("sell", "left out")
    ]


def test_refusal_beyond_a_limit_of_the_device_names_its_option(make_server, state, capsys):
    server = make_server(simulation=False, epsilon=20)
    with listening(server) as url:
        assert join(url, server, state, "--verification-key", KEY, "--smallest-cohort", "2") == 2
    expected = "epsilon: must be at most 8 for this device, not 20; --largest-epsilon sets another limit"
    assert expected in capsys.readouterr().err


def test_main_join_prints_what_is_asked_and_stores_nothing_before_it(make_server, state, monkeypatch, capsys):
    server = make_server(
        statistic="histogram",
        k=1,
        epsilon=3.0,
        event="form.opened",
        event_definition="Someone opened the form.",
        labels=["never", "at least once"],
    )
    there = []
    for command in ("join", "options"):
        monkeypatch.setattr(
            f"panprivacy.device.commands.{command}.print_line",
            lambda line: there.append((line, Path(state).exists())),
        )
    with listening(server) as url:
        assert join(url, server, state, *JOIN, "--simulation") == 0
    *before, joined = there
    assert before == [
        (UNCHECKED, False),
        ("question: How many devices had an event?", False),
        ("event: form.opened (Someone opened the form.)", False),
        ("values: never; at least once", False),
        ("privacy loss (ε): 3 at δ = 1e-6; 6 for a single report", False),
        (f"identifier: {server.recipe.identifier}", False),
    ]
    assert joined == ("joined “Late arrivals” (4 steps): takes part", True)


def test_main_not_sampled_device_says_so_and_sends_nothing(make_server, state, capsys):
    server = make_server(sampling_rate=1e-6, steps=1)
    with listening(server) as url:
        assert join(url, server, state, *JOIN, "--simulation") == 0
        assert main(["step", "--state", state]) == 0
        assert main(["send", "--state", state]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "not sampled: nothing to send"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipe": "f00"}, "64 lower-case hexadecimal digits"),
        ({"key": "AAAA"}, "32 bytes in base64"),
        ({"key": "é"}, "32 bytes in base64"),
        ({"url": "server.example"}, "must have the form https://host"),
        ({"key": base64.b64encode(bytes(32)).decode()}, "must be an Ed25519 key of prime order"),
        ({"key": OTHER_KEY}, "signature is not the server's"),
        ({}, "for simulated devices"),
    ],
)
def test_main_join_bad_input_is_one_line_and_exit_code_2(server, state, capsys, options, message):
    with listening(server) as url:
        chosen = {"url": url, "recipe": server.recipe.identifier, "key": KEY, "state": state} | options
        arguments = ["join", chosen["url"], chosen["recipe"], "--state", chosen["state"]]
        try:
            code = main([*arguments, "--verification-key", chosen["key"]])
        except SystemExit as leaving:
            code = leaving.code
    assert code == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_main_join_into_a_missing_directory_names_the_state_file(server, tmp_path, capsys):
    path = tmp_path / "nowhere" / "state"
    with listening(server) as url:
        assert join(url, server, str(path), *JOIN, "--simulation") == 2
    assert capsys.readouterr().err == f"error: {path} cannot be used: its directory does not exist\n"


@pytest.mark.parametrize("command", ["step", "send"])
def test_main_without_a_state_is_bad_input(state, capsys, command):
    assert main([command, "--state", state]) == 2
    assert capsys.readouterr().err == f"error: {state} does not exist: this device has not joined\n"
    assert list(Path(state).parent.iterdir()) == []


def test_main_server_that_refuses_is_exit_code_1(make_server, state, capsys):
    server = make_server(simulation=False, steps=1)
    with listening(server) as url:
        assert main(["join", url, "f" * 64, "--state", state, *JOIN]) == 1
    assert "404" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        (
            {"closed": True},
            3,
            "the recipe is closed: it takes no more reports, and this one stays undelivered",
        ),
        ({"takes_reports": False}, 1, "the recipe takes no reports yet: it opens 2998-01-01T00:00:00Z"),
        ({"_store": lambda *_: "invalid_ciphertext"}, 3, "the server answered 422"),
    ],
)
def test_main_send_that_is_refused_says_whether_to_try_again(
    make_server, state, capsys, changes, code, message
):
    made = make_server(
        simulation=False, steps=1, opens_at="1999-01-01T00:00:00Z", closes_at="2999-01-01T00:00:00Z"
    )
    later = replace(made.recipe, opens_at=datetime(2998, 1, 1, tzinfo=UTC))
    server = MemoryServer(later, made.private_key)
    with listening(server) as url:
        join(url, server, state, *JOIN)
        main(["step", "--state", state])
        vars(server).update(changes)
        capsys.readouterr()
        assert main(["send", "--state", state]) == code
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_main_device_with_an_identity_enrols_gets_its_token_and_reports(
    make_server, state, tmp_path, monkeypatch, capsys
):
    identity = str(tmp_path / "identity")
    attester = MemoryAttester({})
    attester.known = set()
    with listening(attester) as at_attester:
        attester.url = at_attester
        server = make_server(tokens=True, attester_url=at_attester, steps=1)
        attester.token_keys[server.recipe.identifier] = seeded_key()
        with listening(server) as url:
            assert main(["identity", "--identity", identity]) == 0
            public = base64.b64decode(capsys.readouterr().out)
            assert main(["identity", "--identity", identity]) == 2  # never another one in its place
            assert join(url, server, state, *JOIN, "--issuer-key", OTHER_KEY, "--simulation") == 0
            assert "asks for its token from" in capsys.readouterr().out.splitlines()[-1]
            assert main(["step", "--state", state]) == 0
            assert main(["send", "--state", state]) == 2
            assert "get it first" in capsys.readouterr().err
            ask = ["token", "--state", state, "--identity", identity]
            assert main(ask) == 1
            monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
            assert main(["enrol", at_attester, "--identity", identity]) == 2
            assert "code: must be the first line of standard input" in capsys.readouterr().err
            monkeypatch.setattr("sys.stdin", io.StringIO("ABCD-EFGH\n"))
            assert main(["enrol", at_attester, "--identity", identity]) == 0
            assert attester.codes == {"ABCD-EFGH": public}
            assert main(ask) == main(ask) == 0
            assert main(["send", "--state", state]) == 0
    assert len(server.reports) == 1
    assert stat.S_IMODE((tmp_path / "identity").stat().st_mode) == 0o600


def test_main_token_that_cannot_come_any_more_is_asked_for_once(make_server, state, tmp_path, capsys):
    identity = str(tmp_path / "identity")
    attester = MemoryAttester({})
    attester.meddle = lambda _: problem(409, "/problems/already-issued", "Another device has it")
    with listening(attester) as at_attester:
        server = make_server(tokens=True, attester_url=at_attester, steps=1)
        with listening(server) as url:
            assert main(["identity", "--identity", identity]) == 0
            assert join(url, server, state, *JOIN, "--issuer-key", OTHER_KEY, "--simulation") == 0
            ask = ["token", "--state", state, "--identity", identity]
            for _ in range(2):
                assert main(ask) == 3
                assert "Another device has it" in capsys.readouterr().err
            assert main(["send", "--state", state]) == 3
    assert len(attester.capsules) == 1


@pytest.mark.parametrize("content", [None, b"", b"panapp-device-identity-1 AAAA\n", b"\xff"])
def test_main_token_with_no_identity_is_one_clear_error(tmp_path, state, capsys, content):
    identity = tmp_path / "identity"
    if content is not None:
        identity.write_bytes(content)
    assert main(["token", "--state", state, "--identity", str(identity)]) == 2
    assert "identity" in capsys.readouterr().err
