"""What a device shows of its state is the same whatever happened, and leaving ends it for good."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from devices_sim.__main__ import main as simulated
from panprivacy.device.__main__ import main
from panprivacy.device.algorithm import ParticipationOverError, Phase
from panprivacy.device.client import AlreadyJoinedError, Device
from panprivacy.device.state_file import DoneState
from tests.panprivacy.device.joint_key import JointServer
from tests.panprivacy.device.server import VERIFICATION_KEY
from tests.panprivacy.device.shuffler import SHUFFLER_KEY, MemoryShuffler
from tests.panprivacy.device.two_servers import HELPER_KEY, MemoryPair
from tests.tokens import ISSUER_KEY

KEYS = {
    "verification_key": VERIFICATION_KEY,
    "issuer_key": ISSUER_KEY.public_key().public_bytes_raw(),
    "simulation": True,
}
FUNNEL = {"statistic": "funnel", "events": ["search", "buy"]}
SERVERS: dict[str, dict[str, Any]] = {
    "count": {"event": "opened"},
    "histogram": {"statistic": "histogram", "k": 2},
    "mean": {"statistic": "mean", "k": 3, "guarantee": "local"},
    "funnel": FUNNEL,
    "tokens": {"tokens": True},
    "two servers": {},
    "joint key": {},
}
PAIRS = {"two servers": MemoryPair, "joint key": JointServer}


def shown(path: Path, capsys: Any, *options: str) -> str:
    assert main(["view", "--state", str(path), *options]) == 0
    output: str = capsys.readouterr().out
    return output


def json_of(path: Path, capsys: Any) -> dict[str, Any]:
    [recipe] = json.loads(shown(path, capsys, "--json"))["recipes"]
    return dict(recipe)


@pytest.mark.parametrize("name", SERVERS)
def test_view_after_every_step_has_the_same_bytes_for_all_events(
    name, make_server, tmp_path, monkeypatch, capsys
):
    server = PAIRS[name]() if name in PAIRS else make_server(**SERVERS[name])
    helper = {"helper_key": HELPER_KEY} if name in PAIRS else {}
    folders = [tmp_path / each for each in ("quiet", "eventful")]
    seen: list[list[str]] = [[], []]
    for folder, events, outputs in zip(folders, ((0, 0, 0, 0), (1, 1, 0, 1)), seen, strict=True):
        folder.mkdir()
        monkeypatch.chdir(folder)
        state = Path("state")
        with Device.join(state, server.served, **KEYS, **helper) as device:
            outputs += [shown(state, capsys), shown(state, capsys, "--json")]
            for event in events:
                device.step(event)
                # While the device has the file locked: viewing it waits for nothing.
                outputs += [shown(state, capsys), shown(state, capsys, "--json")]
            device.finish()
            outputs += [shown(state, capsys), shown(state, capsys, "--json")]
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > 6


def test_view_shows_the_facts_of_a_state_by_step_until_it_is_sent(make_server, tmp_path, capsys):
    server, path = make_server(event="opened", epsilon=3.0), tmp_path / "state"
    recipe = server.recipe
    with Device.join(path, server.served, **KEYS) as device:
        device.step(True)
        facts = json_of(path, capsys)
        assert facts == {
            "id": recipe.identifier,
            "name": "Late arrivals",
            "event": "opened",
            "joined": True,
            "kept_bytes": path.stat().st_size,
            "last_changed": 1,
            "sent": None,
            "epsilon": 3.0,
        }
        assert shown(path, capsys).splitlines() == [
            f"recipe: Late arrivals ({recipe.identifier})",
            "event: opened",
            "joined: yes; the recipe closes at 2026-01-06T00:00:00Z",
            f"kept: {path.stat().st_size:,} bytes, which show no event",
            "last changed: after step 1 of 4, by the clock",
            "sent: nothing yet",
            "can reveal: privacy loss (ε) 3 by one report, if a server decrypts it (local model)",
            f"to leave: python -m panprivacy.device leave --state {path}",
        ]
        device.catch_up(4)
        device.send(server.transport(), now=recipe.opens_at)
    ended = {"joined": False, "kept_bytes": path.stat().st_size, "last_changed": None, "sent": "2026-01-01"}
    assert json_of(path, capsys) == facts | ended
    assert "sent: on 2026-01-01, unless its coin kept it out" in shown(path, capsys)
    assert "to leave" not in shown(path, capsys)


def test_view_of_a_done_device_does_not_show_whether_it_was_sampled(make_server, tmp_path):
    server = make_server(sampling_rate=0.5, cohort_size=2)
    contents = {}
    for number in range(200):
        path = tmp_path / str(number)
        with Device.join(path, server.served, **KEYS) as device:
            phase = device.phase
            device.catch_up(4)
            device.send(server.transport(), now=server.recipe.opens_at)
        contents[phase] = path.read_bytes()
        if len(contents) == 2:
            break
    # Both coins within 200 devices but with probability 2**-199.
    assert contents[Phase.COLLECTING] == contents[Phase.NOT_SAMPLED]


def test_view_names_what_has_no_local_epsilon_and_no_event(tmp_path, capsys):
    server, path = MemoryShuffler(tokens=True), tmp_path / "state"
    Device.join(path, server.served, helper_key=SHUFFLER_KEY, **KEYS).close()
    facts = json_of(path, capsys)
    assert (facts["epsilon"], facts["event"], facts["last_changed"]) == (None, None, 0)
    text = shown(path, capsys)
    assert "can reveal: one report alone has no ε: it is protected among others only" in text
    assert "last changed: on joining" in text


def test_view_states_delta_of_a_report_that_has_one(make_server, tmp_path, capsys):
    server, path = make_server(**SERVERS["mean"]), tmp_path / "state"
    Device.join(path, server.served, **KEYS).close()
    assert "privacy loss (ε) 2 at δ = 1e-6 by one report" in shown(path, capsys)


def test_view_of_several_states_lists_them_and_both_commands_agree(make_server, tmp_path, capsys):
    paths = [tmp_path / name for name in ("a", "b")]
    for path, asked in zip(paths, ({}, FUNNEL), strict=True):
        Device.join(path, make_server(**asked).served, **KEYS).close()
    files = sorted(tmp_path.iterdir())
    arguments = ["view", "--json", *(part for path in paths for part in ("--state", str(path)))]
    outputs = []
    for command in (main, simulated):
        assert command(arguments) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert [each["event"] for each in json.loads(outputs[0])["recipes"]] == [None, "search, buy"]
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist: this device has not joined"),
        (b"", "this is not a device's state file"),
        (b"panapp-device-state-9\n", "this is not a device's state file of this version"),
        (b"cut", "the state file is damaged"),
    ],
)
def test_view_of_a_damaged_file_names_it_and_prints_nothing(content, message, server, tmp_path, capsys):
    good, bad = tmp_path / "good", tmp_path / "bad"
    Device.join(good, server.served, **KEYS).close()
    if content is not None:
        bad.write_bytes(content if content != b"cut" else good.read_bytes()[:-9])
    assert main(["view", "--state", str(good), "--state", str(bad)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"error: {bad}")
    assert message in output.err


@pytest.mark.parametrize("change", [{"name": 1}, {"left": "yes"}, {"epsilon": -1.0}, {"epsilon": "2"}])
def test_view_of_a_done_state_with_a_wrong_field_is_refused(server, tmp_path, capsys, change):
    content = DoneState(**({"identifier": "a" * 64, "name": "x", "event": None, "epsilon": 1.0} | change))
    (tmp_path / "state").write_bytes(content.encode())
    assert main(["view", "--state", str(tmp_path / "state")]) == 2
    assert "the state file is damaged" in capsys.readouterr().err


def test_leave_deletes_the_state_once_and_ends_the_device(server, tmp_path, capsys):
    path = tmp_path / "state"
    with Device.join(path, server.served, **KEYS) as device:
        device.step(True)
        assert main(["leave", "--state", str(path)]) == 2
        assert "locked" in capsys.readouterr().err
    assert main(["leave", "--state", str(path)]) == 0
    assert capsys.readouterr().out == "left “Late arrivals”: its state is deleted, and nothing is sent\n"
    left = path.read_bytes()
    assert b"ciphertexts" not in left
    assert main(["leave", "--state", str(path)]) == 0
    assert path.read_bytes() == left
    for command in ("step", "send"):
        assert main([command, "--state", str(path)]) == 2
        assert "has left recipe" in capsys.readouterr().err
    with pytest.raises(AlreadyJoinedError):
        Device.join(path, server.served, **KEYS)
    facts = json_of(path, capsys)
    assert (facts["joined"], facts["sent"], facts["name"]) == (False, None, "Late arrivals")
    text = shown(path, capsys)
    assert "joined: no: it has left" in text
    assert "can reveal: nothing, unless a report arrived without an answer" in text
    assert server.reports == {}
    # A number of one type, whether it was stored or computed.
    assert type(facts["epsilon"]) is float


def test_leave_with_a_report_that_waits_says_that_it_may_have_arrived(server, tmp_path, capsys):
    path = tmp_path / "state"
    with Device.join(path, server.served, **KEYS) as device:
        device.catch_up(4)
        device.finish()
    assert main(["leave", "--state", str(path)]) == 0
    assert "a report whose delivery failed may have arrived" in capsys.readouterr().out
    assert b"ciphertexts" not in path.read_bytes()


def test_leave_after_sending_or_without_a_state_changes_nothing(server, tmp_path, capsys):
    path = tmp_path / "state"
    assert main(["leave", "--state", str(path)]) == 2
    assert list(tmp_path.iterdir()) == []
    assert main(["view", "--state", str(tmp_path)]) == 2
    assert f"{tmp_path} cannot be read: Is a directory" in capsys.readouterr().err
    with Device.join(path, server.served, **KEYS) as device:
        device.catch_up(4)
        device.send(server.transport())
        with pytest.raises(ParticipationOverError):
            device.leave()
    sent = path.read_bytes()
    assert main(["leave", "--state", str(path)]) == 0
    assert path.read_bytes() == sent


def test_commands_of_the_page_about_views_print_what_it_shows(make_server, tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[3] / "docs" / "devices-view.md").read_text()
    commands, expected = re.findall(r"```(?:sh|json)\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    with Device.join(Path("state"), make_server(event="opened").served, **KEYS) as device:
        device.step(True)
    outputs = []
    for command in commands.splitlines():
        program, *arguments = command.removeprefix("python -m ").split()
        assert program == "panprivacy.device"
        assert main(arguments) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[1] == expected
