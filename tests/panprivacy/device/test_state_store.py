"""The state of a device in the caller's hands."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from panprivacy.device.client import AlreadyJoinedError, Device, NotJoinedError
from panprivacy.device.rounds_memory import RoundsMemory, RoundsMemoryError
from panprivacy.device.storage import MemoryStore
from panprivacy.device.transport import Delivery
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.server import VERIFICATION_KEY, MemoryServer

ROOT = Path(__file__).resolve().parents[3]


def join(place: Path | MemoryStore, server: MemoryServer) -> Device:
    return Device.join(
        place,
        server.served,
        verification_key=VERIFICATION_KEY,
        simulation=True,
        random_source=random.Random(7),
    )


def test_bytes_that_a_caller_keeps_are_those_of_a_file(server: MemoryServer, tmp_path: Path) -> None:
    store, file = MemoryStore(), tmp_path / "state"
    for place in (store, file):
        with join(place, server) as device:
            device.step(True)
    assert store.content == file.read_bytes()


def test_device_goes_on_from_bytes_that_it_was_handed(server: MemoryServer) -> None:
    # One seed for all, with which the report's coin does not flip the bit.
    store, seeded = MemoryStore(), random.Random(7)
    join(store, server).close()
    for number in range(1, 5):
        store = MemoryStore(store.content)
        with Device.open(store, random_source=seeded) as device:
            device.step(number == 2)
    with Device.open(store, random_source=seeded) as device:
        assert device.send(InProcessTransport(server)) is Delivery.ACCEPTED
    assert server.decrypted() == [(1,)]


def test_store_with_a_state_is_not_joined_again_nor_an_empty_one_opened(server: MemoryServer) -> None:
    store = MemoryStore()
    with pytest.raises(NotJoinedError, match="the state does not exist"):
        Device.open(store)
    join(store, server).close()
    kept = store.content
    with pytest.raises(AlreadyJoinedError, match="the state exists"):
        join(store, server)
    assert store.content == kept


def test_step_that_the_store_refuses_ends_the_object_and_not_the_device(server: MemoryServer) -> None:
    class FullStore(MemoryStore):
        def write(self, content: bytes) -> None:
            if self.content is not None:
                raise OSError("no room")
            super().write(content)

    store = FullStore()
    with join(store, server) as device:
        with pytest.raises(OSError, match="no room"):
            device.step(True)
        with pytest.raises(Exception, match="open its state again"):
            device.step(True)
    with Device.open(store) as device:
        assert device.steps_taken == 0


def test_memory_of_rounds_can_be_the_callers_too() -> None:
    store = MemoryStore()
    with RoundsMemory(store) as memory:
        memory.record_round("document", 1, "recipe")
    with RoundsMemory(MemoryStore(store.content)) as memory:
        assert memory.is_known("document")
    with pytest.raises(RoundsMemoryError, match="the state is not a device's memory of rounds"):
        RoundsMemory(MemoryStore(b"{}"))


def test_package_without_its_extra_says_what_to_install() -> None:
    program = (
        "import importlib.util as util; found = util.find_spec\n"
        "util.find_spec = lambda name: None if name == 'urllib3' else found(name)\n"
        "import panprivacy.device"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    message = "ModuleNotFoundError: panprivacy.device needs urllib3: install panprivacy[device]"
    assert done.stderr.splitlines()[-1] == message
