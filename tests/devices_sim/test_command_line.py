import base64

import pytest

from devices_sim.__main__ import main
from tests.devices_sim.server import VERIFICATION_KEY, listening

KEY = base64.b64encode(VERIFICATION_KEY).decode()


@pytest.fixture
def state(tmp_path):
    return str(tmp_path / "state")


def test_main_join_steps_and_send_deliver_a_report(make_server, state, capsys):
    server = make_server(simulation=False, epsilon=20)
    with listening(server) as url:
        assert main(["join", url, server.recipe.identifier, "--state", state, "--verification-key", KEY]) == 0
        assert main(["step", "--state", state, "--event"]) == 0
        assert main(["step", "--state", state, "--number", "4"]) == 0
        assert main(["send", "--state", state]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "joined “Late arrivals” (4 steps): takes part",
            "step 1 of 4 taken",
            "step 4 of 4 taken",
            "report delivered (accepted)",
        ]
        assert main(["send", "--state", state]) == 2
    assert "done with recipe" in capsys.readouterr().err
    assert server.decrypted() == [(1,)]


def test_main_not_sampled_device_says_so_and_sends_nothing(make_server, state, capsys):
    server = make_server(sampling_rate=1e-9, steps=1)
    with listening(server) as url:
        arguments = ["join", url, server.recipe.identifier, "--state", state, "--verification-key", KEY]
        assert main([*arguments, "--simulation"]) == 0
        assert main(["step", "--state", state]) == 0
        assert main(["send", "--state", state]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "not sampled: nothing to send"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipe": "f00"}, "64 lower-case hexadecimal digits"),
        ({"key": "AAAA"}, "32 bytes in base64"),
        ({"key": "é"}, "32 bytes in base64"),
        ({"url": "server.example"}, "must look like https://host"),
        ({"key": base64.b64encode(bytes(32)).decode()}, "signature is not the server's"),
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


def test_main_state_in_a_directory_that_does_not_exist_is_bad_input(tmp_path, capsys):
    assert main(["step", "--state", str(tmp_path / "nowhere" / "state")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["step", "send"])
def test_main_without_a_state_is_bad_input(state, capsys, command):
    assert main([command, "--state", state]) == 2
    assert capsys.readouterr().err == f"error: {state} does not exist: this device has not joined\n"


def test_main_server_that_refuses_is_exit_code_1(make_server, state, capsys):
    server = make_server(simulation=False, steps=1)
    with listening(server) as url:
        assert main(["join", url, "f" * 64, "--state", state, "--verification-key", KEY]) == 1
        assert "404" in capsys.readouterr().err
        main(["join", url, server.recipe.identifier, "--state", state, "--verification-key", KEY])
        main(["step", "--state", state])
        server.closed = True
        assert main(["send", "--state", state]) == 1
        assert capsys.readouterr().err.startswith("error: the server answered 409")
