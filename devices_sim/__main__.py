"""A device, or a `fleet` of simulated ones, on the command line: `python -m devices_sim`.

All commands but `fleet` are those of `python -m panprivacy.device`; the exit codes are the same, too.
"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

from collections.abc import Sequence

from devices_sim.fleet import FleetError
from devices_sim.fleet_command import add_fleet
from panprivacy.device.command_line import device_parser, run_command
from panprivacy.device.commands.log import log_options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser, commands = device_parser("python -m devices_sim")
    add_fleet(commands, log_options())
    return run_command(parser, arguments, retriable=(FleetError,))


if __name__ == "__main__":
    console.run(main)
