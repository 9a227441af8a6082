"""One device on the command line: `python -m devices_sim join | step | send`, or `send-value`; or a `fleet`.

`identity`, `enrol` and `token` are for recipes whose reports need a token.

Exit codes:

- 0: done.
- 1: the server refused, or could not be reached, or it is too early. Try again.
- 2: bad input, or a state that does not allow the command.
- 3: the report will never be accepted, so do not try again. The recipe is closed, the shuffler has all its
  users, the server rejected the report itself, it is unknown whether a value arrived, or the device gets no
  token of the recipe any more.
- 130: interrupted.
- 141: the reader of the output has ended. If it is full, the code is 1.
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
