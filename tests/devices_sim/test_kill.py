"""A real process is killed at random moments; its state file is whole every time."""

import random
import signal
import subprocess
import sys
import time

import pytest

from devices_sim.client import Device
from devices_sim.state_file import LiveState, decode
from tests.devices_sim.server import VERIFICATION_KEY

PROGRAM = """
import sys
from pathlib import Path
from devices_sim.client import Device
with Device.open(Path(sys.argv[1])) as device:
    device.step(True)
    print("open", flush=True)
    while True:
        device.step(True)
"""


@pytest.mark.processes
def test_step_process_killed_at_random_moments_leaves_a_whole_state(tmp_path, make_server):
    server = make_server(steps=100_000)
    path = tmp_path / "state"
    Device.join(path, server.served, verification_key=VERIFICATION_KEY, simulation=True).close()
    moments, step = random.Random(5), 0
    for _ in range(2):
        command = [sys.executable, "-c", PROGRAM, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"open\n"
            time.sleep(moments.uniform(0.005, 0.1))
            process.kill()
        assert process.returncode == -signal.SIGKILL
        content = decode(path.read_bytes())
        assert isinstance(content, LiveState)
        assert content.state.step >= step
        step = content.state.step
    assert step > 0
    with Device.open(path) as device:
        device.step(False, number=step + 1)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["state", "state.lock"]
