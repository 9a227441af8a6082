"""A device takes part only in what is in the public log, while that contradicts nothing the device saw."""

import itertools
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from devices_sim.__main__ import main
from panprivacy.device.log_check import LogCheck, LogRefusedError, TooFewWitnessesError
from panprivacy.device.log_memory import LogMemory, LogMemoryError
from panprivacy.device.oblivious_transport import Gateway, ObliviousTransport
from panprivacy.device.transport import TransportError
from panprivacy.encryption import DEFAULT_SCHEME
from panprivacy.formats import base64_text
from panprivacy.protocols.transparency.cosignature import cosign
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, ED25519, VerifierKey
from tests.panprivacy.device.conftest import private_key_of
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.public_log import (
    LOG,
    ORIGIN,
    WITHOUT_WITNESSES,
    MemoryLog,
    entry_of,
    other_entries,
)
from tests.panprivacy.device.relay import RELAY_URL, MemoryGateway, Relay
from tests.panprivacy.device.server import SIGNING_KEY, VERIFICATION_KEY, MemoryServer, listening
from tests.panprivacy.device.test_rounds_check import Scene as Rounds
from tests.panprivacy.device.test_target import TARGET
from tests.tokens import ISSUER_KEY

POLICY = Policy.parse(WITHOUT_WITNESSES.encode())
WITNESS = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
WITNESSED = f"""log {LOG.text}
witness w {VerifierKey("w.example", COSIGNATURE, WITNESS.public_key().public_bytes_raw()).text}
quorum w
"""


@pytest.fixture
def log(server: MemoryServer) -> MemoryLog:
    return MemoryLog([entry_of(server.recipe.identifier), *other_entries(9)], 0, server)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log"


def check_log(
    server: MemoryServer, log: MemoryLog, file: Path | None = None, policy: Policy = POLICY
) -> None:
    """As a device does before it takes part."""
    transport = InProcessTransport(log)
    if file is None:
        LogCheck(policy).require(server.served, transport)
        return
    with LogMemory(file) as memory:
        LogCheck(policy, memory).require(server.served, transport)


def log_options_of(tmp_path: Path) -> list[str]:
    """Options of a command that looks at the log without witnesses and remembers it in `log`."""
    (tmp_path / "policy").write_text(WITHOUT_WITNESSES)
    return ["--log-policy", str(tmp_path / "policy"), "--log-state", str(tmp_path / "log")]


def remembered(file: Path) -> int | None:
    with LogMemory(file) as memory:
        newest = memory.newest(ORIGIN)
        return None if newest is None else newest.size


def test_a_log_that_grows_is_followed(server: MemoryServer, log: MemoryLog, file: Path) -> None:
    """Over every border of tiles: within one, at its end, over several, and up to the next level."""
    entries = [log.entries[0], *other_entries(800)]
    for old, new in itertools.pairwise((1, 2, 255, 256, 257, 512, 801)):
        for size in (old, new):
            log.show(entries[:size])
            check_log(server, log, file)
            assert remembered(file) == size
    log.asked.clear()
    check_log(server, log, file)
    assert not log.asked, "of the same state no tile need be read"


@pytest.mark.parametrize(("old", "new"), [(3, 3), (3, 9), (255, 256), (256, 700), (300, 801), (800, 801)])
def test_another_tree_is_refused_for_good_and_both_are_kept(server, log, file, old, new):
    log.show([log.entries[0], *other_entries(old - 1)])
    first = log.checkpoint
    check_log(server, log, file)
    log.show([log.entries[0], *other_entries(new - 1, "other")])
    with pytest.raises(LogRefusedError, match=f"contradicts what it showed.*both checkpoints are in {file}"):
        check_log(server, log, file)
    evidence = json.loads(file.read_text())["logs"][ORIGIN]
    assert first.text in evidence["newest"]
    assert log.checkpoint.text in evidence["against"]
    # A site that shows this device the first tree again has still shown another device the other one.
    log.show([log.entries[0], *other_entries(old)])
    with pytest.raises(LogRefusedError, match="contradicted itself before"):
        check_log(server, log, file)


def test_a_log_that_was_rolled_back_is_refused(server: MemoryServer, log: MemoryLog, file: Path) -> None:
    check_log(server, log, file)
    log.show(log.entries[:4])
    with pytest.raises(LogRefusedError, match="it had 10 entries before, and has only 4 now"):
        check_log(server, log, file)
    assert remembered(file) == 10


def test_a_proof_as_of_an_older_state_is_enough_and_nothing_is_forgotten(server, log, file):
    """Witnesses sign some states only: another recipe's proof may be as of a newer one."""
    check_log(server, log, file)
    log.show(log.entries, size=4)
    check_log(server, log, file)
    assert remembered(file) == 10


def test_a_tile_that_is_missing_or_cut_short_is_no_evidence(server, log, file, monkeypatch):
    log.show(log.entries, size=4)
    check_log(server, log, file)
    log.show(log.entries)
    for tile, kind in ((None, TransportError), (b"short", LogRefusedError)):
        with monkeypatch.context() as patched:
            patched.setattr(log, "_tile", lambda _, tile=tile: tile)
            with pytest.raises(kind):
                check_log(server, log, file)
    check_log(server, log, file)
    assert remembered(file) == 10


def test_a_recipe_that_is_not_in_the_log_is_refused(server: MemoryServer, log: MemoryLog, file: Path) -> None:
    stranger = VerifierKey(ORIGIN, ED25519, WITNESS.public_key().public_bytes_raw())
    with pytest.raises(LogRefusedError, match="no key that is known has signed"):
        check_log(server, log, policy=Policy.parse(f"log {stranger.text}\nquorum none\n".encode()))
    for entry in (entry_of("0" * 64), entry_of(server.recipe.identifier, "recipe_closed"), *other_entries(1)):
        log.show([entry, *other_entries(3)])
        with pytest.raises(LogRefusedError, match="does not vouch for this recipe"):
            check_log(server, log, file)
    assert remembered(file) is None


def test_a_log_without_its_witness_is_tried_again_later(server, log, file):
    policy = Policy.parse(WITNESSED.encode())
    with pytest.raises(TooFewWitnessesError, match="the quorum w is not reached"):
        check_log(server, log, file, policy)
    assert remembered(file) is None
    soon = datetime.now(UTC) + timedelta(hours=25)
    line = cosign(log.checkpoint, "w.example", WITNESS, time=int(soon.timestamp())).line
    log.cosignatures[log.checkpoint] = line
    with pytest.raises(TooFewWitnessesError, match="a clock is wrong: w"):
        check_log(server, log, file, policy)
    log.cosignatures[log.checkpoint] = cosign(log.checkpoint, "w.example", WITNESS, time=1).line
    check_log(server, log, file, policy)
    assert remembered(file) == 10


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"format": "panapp-device-logs-2", "logs": {}}',
        b'{"format": "panapp-device-logs-1", "logs": {"site.example/log": {"newest": "nonsense"}}}',
        b'{"format": "panapp-device-logs-1", "logs": {"site.example/log": {}}}',
    ],
)
def test_a_memory_that_cannot_be_read_is_not_begun_anew(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(LogMemoryError, match="is not a device's memory of logs"):
        LogMemory(file)
    assert file.read_bytes() == content


def test_the_log_is_read_through_a_relay(server: MemoryServer, log: MemoryLog, file: Path) -> None:
    gateway = MemoryGateway(log)
    direct = InProcessTransport(log, others={RELAY_URL: Relay({"/relay/site": gateway})})
    way = ObliviousTransport("https://site.example", RELAY_URL, direct, Gateway("", VERIFICATION_KEY))
    for size in (4, 10):
        log.show(log.entries, size=size)
        with LogMemory(file) as memory:
            LogCheck(POLICY, memory).require(server.served, way)
    assert [request.path.split(b"/")[-2] for request in gateway.asked] == [b"proof", b"proof", b"000.p"]


def test_join_and_send_look_at_the_log(server, log, tmp_path, capsys):
    state, log_options = tmp_path / "state", log_options_of(tmp_path)
    key = base64_text.encode(VERIFICATION_KEY)
    with listening(log) as url:
        join = ["join", url, server.recipe.identifier, "--simulation", "--verification-key", key]
        assert main([*join, "--state", str(tmp_path / "alone"), *log_options[:2]]) == 2
        assert "go together" in capsys.readouterr().err
        assert main([*join, "--state", str(state), *log_options]) == 0
        assert "of the log site.example/log, as of" in capsys.readouterr().out
        assert main(["step", "--state", str(state), "--number", "4"]) == 0
        log.show([log.entries[0], *other_entries(11, "other")])
        for command in (["send", "--state", str(state)], [*join, "--state", str(tmp_path / "second")]):
            assert main([*command, *log_options]) == 2
            assert "contradict" in capsys.readouterr().err
        assert not server.reports
        assert not (tmp_path / "second").exists()
        # Without the options the device does not look: what it has made is still there to be sent.
        assert main(["send", "--state", str(state)]) == 0
    assert len(server.reports) == 1


def test_join_looks_at_all_documents_in_the_one_log_that_it_remembers(tmp_path, capsys):
    """The recipe in one tree and the document of its rounds in another, each without fault by itself."""
    scene = Rounds()
    server = MemoryServer(scene.round(3), private_key_of(DEFAULT_SCHEME))
    rounds = {"id": scene.rounds.identifier, "document": scene.rounds.document}
    rounds["signature"] = base64_text.encode(scene.rounds.sign(SIGNING_KEY))
    entries = [entry_of(server.recipe.identifier), entry_of(scene.rounds.identifier, "rounds_published")]
    of_recipe = MemoryLog([*entries, *other_entries(5)], 0, server)
    of_rounds = MemoryLog([*entries, *other_entries(5, "other")], 1)

    def site(environ: dict[str, Any], start_response: Any) -> Any:
        path = environ["PATH_INFO"]
        if "/rounds/" not in path:
            return of_recipe(environ, start_response)
        if path.endswith("/proof/"):
            return of_rounds(environ, start_response)
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(rounds).encode()]

    with listening(site) as url:
        join = ["join", url, server.recipe.identifier, "--state", str(tmp_path / "state")]
        join += ["--verification-key", base64_text.encode(VERIFICATION_KEY), "--smallest-cohort", "20"]
        join += [
            "--rounds-state",
            str(tmp_path / "rounds"),
            "--largest-epsilon",
            "9",
            *log_options_of(tmp_path),
        ]
        assert main(join) == 2
        assert "two trees of one size differ" in capsys.readouterr().err
        assert not (tmp_path / "state").exists()
        # With both in one tree the device joins. It begins anew: it has evidence against this log.
        (tmp_path / "log").unlink()
        of_rounds.show(of_recipe.entries)
        assert main(join) == 0, capsys.readouterr().err


def test_join_looks_at_cited_results_in_the_log_that_it_remembers(make_server, tmp_path, monkeypatch):
    server = make_server(tokens=True, relay=RELAY_URL, target=TARGET, steps=1, sampling_rate=0.5)
    log = MemoryLog([entry_of(server.recipe.identifier)], 0, server)
    seen: list[Any] = []

    def looked(*_: object, log: LogCheck, **__: object) -> None:
        assert log.memory is not None
        seen.append(log.memory.newest(ORIGIN))
        raise LogRefusedError("enough was seen")

    monkeypatch.setattr("panprivacy.device.commands.join.target_require", looked)
    with listening(log) as url:
        join = ["join", url, server.recipe.identifier, "--simulation", "--state", str(tmp_path / "state")]
        join += ["--verification-key", base64_text.encode(VERIFICATION_KEY)]
        join += ["--issuer-key", base64_text.encode(ISSUER_KEY.public_key().public_bytes_raw())]
        assert main([*join, *log_options_of(tmp_path)]) == 2
    assert seen == [log.checkpoint]


@pytest.mark.parametrize("document", [{"format": []}, {"format": {}}, [], {"format": "panapp-rounds-1"}])
def test_what_a_site_serves_in_place_of_a_document_is_refused(server, log, document):
    content = json.dumps({"document": document, "id": "x"}).encode()
    with pytest.raises(LogRefusedError):
        LogCheck(POLICY).require_file(content, "rounds/x/", InProcessTransport(log), what="document")


def test_a_fleet_checks_the_log_once_for_all_of_its_devices(server, log, tmp_path, capsys):
    policy, file, log_options = tmp_path / "policy", tmp_path / "log", log_options_of(tmp_path)
    key = base64_text.encode(VERIFICATION_KEY)
    with listening(log) as url:
        fleet = ["fleet", "--server", url, "--recipe", server.recipe.identifier, "--verification-key", key]
        fleet += ["--devices", "3", "--rate", "0.5", "--processes", "1"]
        assert main([*fleet, *log_options[2:]]) == 2
        assert "--log-state goes with --log-policy" in capsys.readouterr().err
        for given, message in (
            ([], "The public log is not checked: no --log-policy.\n"),
            (log_options[:2], "It is entry 1 of the log site.example/log"),
            (log_options, "It is entry 1 of the log site.example/log"),
        ):
            assert main([*fleet, *given]) == 0
            printed = capsys.readouterr()
            assert message in printed.err
            assert json.loads(printed.out)["reports"]["accepted"] == 3
        assert remembered(file) == 10
        sent = len(server.reports)
        log.show([log.entries[0], *other_entries(11, "other")])
        assert main([*fleet, *log_options]) == 2
        policy.write_text(WITNESSED)
        assert main([*fleet, *log_options[:2]]) == 1
        assert "the quorum w is not reached" in capsys.readouterr().err
    assert len(server.reports) == sent


def test_a_policy_that_is_malformed_names_its_file_and_line(server, tmp_path, capsys):
    log_options, policy = log_options_of(tmp_path), tmp_path / "policy"
    policy.write_text("log nonsense\n")
    with listening(server) as url:
        arguments = ["join", url, server.recipe.identifier, "--verification-key"]
        arguments += [base64_text.encode(VERIFICATION_KEY), "--state", str(tmp_path / "state")]
        assert main([*arguments, *log_options]) == 2
    assert f"{policy}: line 1: " in capsys.readouterr().err
