"""The audit log for programs that watch it: to standard output, and to a real syslog receiver."""

import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError
from django.test import Client

from log.audit import syslog
from log.audit.actions import ACCESS_DENIED
from log.audit.management.commands import audit_stream
from log.audit.models import Entry
from log.audit.operations import entry_append, hash_of
from log.audit.selectors import entry_document
from log.audit.stream import ENTRIES_AT_ONCE, Bookmark, line_of
from log.audit.syslog import MESSAGE_BYTES, framed, message
from tests.certificates import certificate_written
from tests.collections.log.audit.rsyslog import needed, receiving
from tests.patience import PATIENCE
from tests.refusals import field_refused
from tests.scenes import PASSWORD, account

pytestmark = pytest.mark.django_db

PAGE = Path(__file__).resolve().parents[4] / "docs/operations/audit-stream.md"

HOSTILE = 'a "quoted" ] line\nbreak\ttab \u2028 \u202e\x85 אבג 😀 <109>1 - - - - - - {"index": 9}'


def append(subject: str = "ana", **details: Any) -> Entry:
    return entry_append(action=ACCESS_DENIED, subject=subject, actor=None, details=details)


def stream(to: str, *arguments: object) -> list[dict[str, Any]]:
    """What the command prints."""
    out = StringIO()
    call_command("audit_stream", "--to", to, *map(str, arguments), stdout=out, stderr=StringIO())
    return [json.loads(line) for line in out.getvalue().split("\n")[:-1]]


@contextmanager
def serving(deal: Callable[[socket.socket], None]) -> Iterator[str]:
    """The address of a receiver that deals so with one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    deal(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits in `accept`


def all_of(connection: socket.socket, into: list[bytes] | None = None) -> None:
    """Read to the end."""
    while piece := connection.recv(65_536):
        if into is not None:
            into.append(piece)


def test_every_entry_is_one_line_with_the_fields_of_the_log() -> None:
    entries = [append(), append(HOSTILE, said=HOSTILE, more=[1, None, {"a": 1.5}])]
    lines = stream("stdout")
    assert lines == [entry_document(entry) for entry in entries]
    assert [hash_of(Entry(**{**line, "at": datetime.fromisoformat(line["at"])})) for line in lines] == [
        line["entry_hash"] for line in lines
    ]
    assert all(line_of(entry).isascii() and "\n" not in line_of(entry) for entry in entries)
    assert [line["index"] for line in stream("stdout", "--from", 2)] == [2]
    assert stream("stdout", "--from", 3) == []


def test_state_goes_on_after_the_last_entry_that_was_sent(tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert stream("stdout", "--state", state) == []
    for number in range(ENTRIES_AT_ONCE + 5):
        append(str(number))
    assert [line["index"] for line in stream("stdout", "--state", state)] == [*range(1, ENTRIES_AT_ONCE + 6)]
    assert stream("stdout", "--state", state) == []
    last = append("last")
    assert [line["subject"] for line in stream("stdout", "--state", state)] == ["last"]
    assert Bookmark.read(state) == Bookmark(last.index, last.entry_hash)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("sent", [Bookmark(2, "0" * 64), Bookmark(9, "0" * 64)])
def test_log_that_does_not_continue_what_was_sent_is_an_error(tmp_path: Path, sent: Bookmark) -> None:
    append(), append()
    sent.write(tmp_path / "state")
    with pytest.raises(CommandError, match=r"does not continue what was sent: entry [29] ") as refusal:
        stream("stdout", "--state", tmp_path / "state")
    assert refusal.value.returncode == 1
    assert Bookmark.read(tmp_path / "state") == sent


@pytest.mark.parametrize(
    "content", ["", "[]", "[" * 900, '{"index": -1}', '{"index": true}', '{"index": 1, "more": 2}', "\x00"]
)
def test_state_of_another_program_is_refused_and_kept(tmp_path: Path, content: str) -> None:
    file = tmp_path / "state"
    file.write_text(content)
    with field_refused("state", "is no file that this command wrote"):
        Bookmark.read(file)
    with pytest.raises(CommandError, match="state: ") as refusal:
        stream("stdout", "--state", file)
    assert (refusal.value.returncode, file.read_text()) == (2, content)


def test_state_that_cannot_be_kept_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    append()
    for file in (tmp_path, tmp_path / "none" / "state"):
        with pytest.raises(CommandError, match="state: cannot be"):
            stream("stdout", "--state", file)


def test_following_sends_later_entries_and_retries_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, paused = StringIO(), list[float]()
    append("first")
    fails = iter([OperationalError("no\nserver"), OperationalError("no server")])
    send = audit_stream.entries_send

    def sometimes(*arguments: Any) -> Bookmark:
        if len(paused) >= 1 and (error := next(fails, None)):
            raise error
        return send(*arguments)

    def pause(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) == 1:
            append("second")
        if len(paused) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(audit_stream, "entries_send", sometimes)
    monkeypatch.setattr("time.sleep", pause)
    said = StringIO()
    arguments = ("--to", "stdout", "--follow", "--state", str(tmp_path / "state"))
    with pytest.raises(KeyboardInterrupt):
        call_command("audit_stream", *arguments, stdout=out, stderr=said)
    assert [json.loads(line)["subject"] for line in out.getvalue().splitlines()] == ["first", "second"]
    assert paused == [2.0, 2.0, 4.0, 2.0]
    assert said.getvalue() == "no server\nno server\n"


def test_pauses_between_failures_grow_to_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    paused = list[float]()

    def pause(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) == 1_100:
            raise KeyboardInterrupt

    append()
    monkeypatch.setattr("time.sleep", pause)
    monkeypatch.setattr(audit_stream, "entries_send", _away)
    with pytest.raises(KeyboardInterrupt):
        stream("stdout", "--follow")
    assert (paused[:6], max(paused)) == ([2.0, 4.0, 8.0, 16.0, 32.0, 60.0], 60.0)


def _away(*_: object) -> Bookmark:
    raise audit_stream.NotSentError("away")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "udp://127.0.0.1:514"], "to: must be stdout, or begin with syslog+tls:// or syslog://"),
        (["--to", "syslog://siem.example:601"], "to: must begin with syslog+tls:// unless the receiver is"),
        (["--to", "syslog+tls://siem.example"], "to: must be syslog+tls://HOST:PORT"),
        (["--to", "syslog+tls://siem.example:0"], "to: must be syslog+tls://HOST:PORT"),
        (["--to", "syslog+tls://siem.example:70000"], "to: is no address"),
        (["--to", "syslog+tls://siem.example:6514/path"], "to: must be syslog+tls://HOST:PORT"),
        (["--to", "syslog+tls://sïem.example:6514"], "to: must be syslog+tls://HOST:PORT"),
        (["--to", "syslog+tls://user@siem.example:6514"], "to: must not have a user"),
        (["--to", "syslog+tls://[::1:6514"], "to: is no address"),
        (["--to", "syslog+tls://siem.example:6514", "--ca", "missing.pem"], "ca: cannot be used"),
        (["--to", "syslog+tls://a.example:6514", "--certificate", "missing.pem"], "certificate: cannot be"),
        (["--to", "syslog://127.0.0.1:601", "--ca", "missing.pem"], "ca: is for syslog+tls:// only"),
        (["--to", "stdout", "--certificate", "missing.pem"], "certificate: is for syslog+tls:// only"),
    ],
)
def test_wrong_argument_is_refused_by_name(arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=re.escape(said)) as refusal:
        call_command("audit_stream", *arguments)
    assert refusal.value.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "0"], "must be a whole number from 1"),
        (["--from", "1", "--state", "s"], "not allowed with argument"),
    ],
)
def test_wrong_use_of_arguments_ends_the_command_with_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refusal:
        audit_stream.Command().run_from_argv(["manage.py", "audit_stream", "--to", "stdout", *arguments])
    assert refusal.value.code == 2
    assert said in capsys.readouterr().err


@needed
@pytest.mark.parametrize("secured", [False, True], ids=["plain", "TLS"])
def test_rsyslog_reads_every_entry_as_it_was_sent(tmp_path: Path, secured: bool) -> None:
    certificate_written(tmp_path, "127.0.0.1")
    entries = [append(HOSTILE, said=HOSTILE), append(), append("long", said="x" * 9_000), append("ana")]
    with receiving(tmp_path, secured=secured) as rsyslog:
        scheme, trust = ("syslog+tls", ["--ca", tmp_path / "certificate.pem"]) if secured else ("syslog", [])
        address = f"{scheme}://127.0.0.1:{rsyslog.port}"
        stream(address, "--state", tmp_path / "state", *trust)
        append("later")
        stream(address, "--state", tmp_path / "state", *trust)
        received = rsyslog.received(5)
    assert [one.document["index"] for one in received] == [1, 2, 3, 4, 5]
    whole = [one for one in received[:4] if one.document["subject"] != "long"]
    assert [one.document for one in whole] == [entry_document(entries[at]) for at in (0, 1, 3)]
    cut = received[2].document
    assert "details" not in cut
    assert cut["details_bytes"] == len('{"said":""}') + 9_000
    assert cut["entry_hash"] == entries[2].entry_hash
    for one, entry in zip(received, entries, strict=False):
        assert (one.pri, one.version, one.app, one.process, one.data) == (109, 1, "panapp", "-", "-")
        assert (one.host, one.message_id) == (socket.gethostname(), "access_denied")
        assert datetime.fromisoformat(one.at) == entry.at


@needed
def test_rsyslog_with_another_certificate_gets_nothing(tmp_path: Path) -> None:
    certificate_written(tmp_path, "127.0.0.2")
    append()
    with receiving(tmp_path, secured=True) as rsyslog:
        for trust in (["--ca", tmp_path / "certificate.pem"], []):
            with pytest.raises(CommandError, match="certificate verify failed") as refusal:
                stream(f"syslog+tls://127.0.0.1:{rsyslog.port}", "--state", tmp_path / "state", *trust)
            assert refusal.value.returncode == 1
        assert not rsyslog.written.exists()
    assert Bookmark.read(tmp_path / "state") == Bookmark()


def test_messages_are_framed_by_their_length(tmp_path: Path) -> None:
    entries, got = [append(), append()], list[bytes]()
    with serving(lambda connection: all_of(connection, got)) as address:
        stream(f"syslog://{address}")
    sent = [message(entry, socket.gethostname()) for entry in entries]
    assert b"".join(got) == b"".join(framed(one) for one in sent)
    assert framed(b"abc") == b"3 abc"


def resets(connection: socket.socket) -> None:
    connection.recv(1)


def keeps_open(connection: socket.socket) -> None:
    all_of(connection)
    time.sleep(2)


def drips(connection: socket.socket) -> None:
    all_of(connection)
    for _ in range(200):
        connection.sendall(b"x")
        time.sleep(0.02)


def reads_nothing(connection: socket.socket) -> None:
    time.sleep(2)


@pytest.mark.parametrize("deal", [resets, keeps_open, drips, reads_nothing])
def test_receiver_that_does_not_take_all_gets_all_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deal: Callable[[socket.socket], None]
) -> None:
    monkeypatch.setattr(syslog, "SECONDS", 0.3)
    for number in range(3):
        append(str(number), said="x" * 8_000)
    state, got = tmp_path / "state", list[bytes]()
    with serving(deal) as address:
        begun = time.monotonic()
        with pytest.raises(CommandError, match="did not take entries"):
            stream(f"syslog://{address}", "--state", state)
        assert time.monotonic() - begun < 60
    assert Bookmark.read(state) == Bookmark()
    with serving(lambda connection: all_of(connection, got)) as address:
        stream(f"syslog://{address}", "--state", state)
    assert Bookmark.read(state).index == 3
    assert b"".join(got).count(b'"index":') == 3


@pytest.mark.parametrize("secured", [False, True])
def test_end_that_comes_before_ours_is_no_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secured: bool
) -> None:
    """The receiver may have died without reading."""
    certificate_written(tmp_path, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    has_ended, write = threading.Event(), syslog.SyslogReceiver._write

    def ends_first(connection: socket.socket) -> None:
        # Or the end would wait for a receipt of what is in front of it.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if secured:
            connection = context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=False)
            connection.settimeout(0.5)
            with suppress(OSError):
                connection.unwrap()
        else:
            connection.shutdown(socket.SHUT_WR)
        has_ended.set()
        time.sleep(1)
        connection.close()  # the one of TLS is not the one that `serving` closes

    def written(receiver: syslog.SyslogReceiver, connection: socket.socket, entries: Any) -> None:
        write(receiver, connection, entries)
        assert has_ended.wait(PATIENCE)

    monkeypatch.setattr(syslog.SyslogReceiver, "_write", written)
    append()
    to = "syslog+tls" if secured else "syslog"
    with serving(ends_first) as address:
        with pytest.raises(CommandError, match="it ended the connection first"):
            stream(f"{to}://{address}", *(("--ca", tmp_path / "certificate.pem") if secured else ()))


def test_bookmark_is_not_written_through_a_link(tmp_path: Path) -> None:
    other, state = tmp_path / "other", tmp_path / "state"
    other.write_text("kept")
    (tmp_path / "state.new").symlink_to(other)
    with pytest.raises(CommandError, match="state: cannot be written"):
        stream("stdout", "--state", state)
    assert other.read_text() == "kept"


def test_end_of_tls_that_an_attacker_can_forge_is_no_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syslog, "SECONDS", 5.0)
    certificate_written(tmp_path, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")

    def cut(connection: socket.socket) -> None:
        secured = context.wrap_socket(connection, server_side=True)
        all_of(secured)
        secured.close()  # ends TCP without the closing alert

    append()
    with serving(cut) as address:
        with pytest.raises(CommandError, match="did not take entries"):
            stream(f"syslog+tls://{address}", "--ca", tmp_path / "certificate.pem")


def test_receiver_that_is_away_is_an_error_without_a_traceback() -> None:
    append()
    with serving(all_of) as address:
        pass
    with pytest.raises(CommandError, match=f"^{address} did not take entries: ") as refusal:
        stream(f"syslog://{address}")
    assert refusal.value.returncode == 1


def test_message_of_the_longest_fields_has_the_size_that_receivers_take() -> None:
    entry = Entry(
        index=2**63 - 1,
        at=datetime(2030, 1, 1, 1, 1, 1, 123_456, tzinfo=UTC),
        actor="😀" * 150,
        action="a" * 40,
        subject="😀" * 200,
        details={"said": "x" * 100_000},
        salt="0" * 32,
        entry_hash="0" * 64,
    )
    sent = message(entry, "h" * 300 + " \n")
    assert len(sent) < 6_000 < MESSAGE_BYTES
    head, document = sent.split(b" - {", 1)
    assert head == b"<109>1 2030-01-01T01:01:01.123456+00:00 %s panapp - %s" % (b"h" * 255, b"a" * 32)
    assert json.loads(b"{" + document)["details_bytes"] == 100_011
    assert message(entry, "\n").split(b" ")[2] == b"-"


def test_command_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append()
    (command,) = re.findall(r"manage\.py audit_stream (.+)", PAGE.read_text())
    monkeypatch.chdir(tmp_path)
    out = StringIO()
    call_command("audit_stream", *command.split(), stdout=out)
    assert json.loads(out.getvalue())["index"] == 1
    named = re.findall(r"`(\w+)`", PAGE.read_text().split("**Fields**", 1)[1].split(":", 1)[1])
    assert set(json.loads(out.getvalue())) <= set(named)


def test_entries_of_sign_ins_have_no_address() -> None:
    account("ana")
    client = Client(REMOTE_ADDR="203.0.113.77", headers={"user-agent": "a browser of hers"})
    for password in ("guess", PASSWORD):
        client.post("/sign-in/", {"username": "ana", "password": password})
    lines = stream("stdout")[-2:]
    assert [line["action"] for line in lines] == ["sign_in_failed", "signed_in"]
    for line in lines:
        assert set(line) == {"index", "at", "actor", "action", "subject", "details", "salt", "entry_hash"}
        assert line["details"] == {}
        assert "203.0.113" not in str(line)
        assert "browser" not in str(line)
