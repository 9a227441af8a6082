"""A site shows two devices two trees: a recipe that one device alone will ever see.

Each tree by itself is without fault, and the site signs both. A device with a witness in its policy refuses
the second tree, as does one that saw the first; and witness and device keep what convicts the site.
"""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from log.public_log.models import Fork
from log.public_log.witness import witness_verifier_key
from panprivacy.device.log_check import LogCheck, LogRefusedError, TooFewWitnessesError
from panprivacy.device.log_memory import LogMemory
from panprivacy.protocols.transparency import signed_note
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.protocols.transparency.witnessing import AddCheckpoint
from tests.panprivacy.device.conftest import make_server, server
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.public_log import LOG, WITHOUT_WITNESSES, MemoryLog, entry_of, other_entries
from tests.panprivacy.device.server import MemoryServer

__all__ = ["make_server", "server"]  # fixtures

pytestmark = pytest.mark.django_db


@pytest.fixture
def policy(settings: Any) -> Policy:
    """Of devices that ask for this installation as a witness."""
    settings.WITNESSED_LOGS = (LOG,)
    text = f"log {LOG.text}\nwitness w {witness_verifier_key().text}\nquorum w\n"
    return Policy.parse(text.encode())


def ask_witness(log: MemoryLog, old: int) -> int:
    """The site asks for a signature of what it shows, and serves it."""
    request = AddCheckpoint(old, tuple(log.consistency(old)), log.note()).encode()
    answer: Any = Client().post("/witness/add-checkpoint", request, content_type="text/plain; charset=utf-8")
    if answer.status_code == 200:
        log.cosignatures[log.checkpoint] = answer.content.decode()
    return int(answer.status_code)


def test_a_site_that_shows_two_devices_two_trees_is_refused_and_convicted(
    server: MemoryServer, policy: Policy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = InProcessTransport(log := MemoryLog([entry_of(server.recipe.identifier), *other_entries(7)], 0))
    # The first device sees one tree, with the signature of the witness.
    assert ask_witness(log, 0) == 200
    with LogMemory(tmp_path / "first") as memory:
        LogCheck(policy, memory).require(server.served, site)
    honest = log.checkpoint
    (first_signature,) = log.cosignatures.values()

    # The second is shown another one of the same size. The witness does not sign it …
    log.show([entry_of(server.recipe.identifier), *other_entries(7, "other")])
    assert ask_witness(log, log.size) == 422
    with LogMemory(tmp_path / "second") as memory:
        with pytest.raises(TooFewWitnessesError):
            LogCheck(policy, memory).require(server.served, site)
        # … and its signature of the first does not hold below the second.
        log.cosignatures[log.checkpoint] = first_signature
        with pytest.raises(LogRefusedError, match="does not vouch"):
            LogCheck(policy, memory).require(server.served, site)
        assert memory.newest(LOG.name) is None
    del log.cosignatures[log.checkpoint]

    # A device that asks for no witness refuses it, if it saw the first one, and keeps both.
    with LogMemory(tmp_path / "first") as memory:
        check = LogCheck(Policy.parse(WITHOUT_WITNESSES.encode()), memory)
        with pytest.raises(LogRefusedError, match="two trees of one size differ"):
            check.require(server.served, site)

    # The witness shows to all what the site signed twice.
    with pytest.raises(CommandError, match="1 times a log signed two states"):
        call_command("log", "evidence")
    shown, fork = capsys.readouterr().out, Fork.objects.get()
    states = [
        Checkpoint.parse(signed_note.opened(note.encode(), [LOG]).text) for note in (fork.known, fork.other)
    ]
    assert states == [honest, log.checkpoint]
    assert honest.text in shown
    assert log.checkpoint.text in shown
