"""One device on the command line: `python -m panprivacy.device join | step | send`, or `send-value`.

`view` shows what it keeps, and `leave` ends it. `identity`, `enrol` and `token` are for recipes whose reports
need a token. The exit codes are those of `command_line`.
"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

from collections.abc import Sequence

from panprivacy.device.command_line import device_parser, run_command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser, _ = device_parser("python -m panprivacy.device")
    return run_command(parser, arguments)


if __name__ == "__main__":
    console.run(main)
