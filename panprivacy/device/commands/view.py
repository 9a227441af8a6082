"""`view` and `leave`: what a device keeps and sent, and how it ends that."""

import argparse
import json
import shlex
from pathlib import Path

from panprivacy.device.algorithm import ParticipationOverError, Phase
from panprivacy.device.client import Device
from panprivacy.device.commands.options import Subparsers, print_line, printable
from panprivacy.device.storage import StateFileError
from panprivacy.device.view import StateView, state_view


def add_view(commands: Subparsers, state: argparse.ArgumentParser) -> None:
    """Its own options, without those that it shares."""
    view = commands.add_parser(
        "view",
        help="show what this device keeps, sent and can reveal, and how to leave",
        description="Show what the state files hold: only what an intruder would see there.",
    )
    view.add_argument(
        "--state",
        required=True,
        action="append",
        type=Path,
        metavar="FILE",
        help="the device's state file; again for each recipe",
    )
    view.add_argument("--json", action="store_true", help="as JSON")
    view.set_defaults(run=_view)
    leave = commands.add_parser(
        "leave", parents=[state], help="leave a recipe: delete its state, and send nothing"
    )
    leave.set_defaults(run=_leave)


def _view(options: argparse.Namespace) -> None:
    # All of them first: a damaged file leaves no half of an output.
    views = [_view_of(path) for path in options.state]
    if options.json:
        print_line(json.dumps({"recipes": [view.as_dict() for view in views]}, indent=2, ensure_ascii=False))
        return
    for number, (path, view) in enumerate(zip(options.state, views, strict=True)):
        if number:
            print_line("")
        for line in view.lines():
            print_line(printable(line))
        if view.joined:
            command = f"python -m panprivacy.device leave --state {shlex.quote(str(path))}"
            print_line(printable(f"to leave: {command}"))


def _view_of(path: Path) -> StateView:
    try:
        # Without a lock: the file is replaced as a whole, and reading it must change nothing.
        return state_view(path.read_bytes())
    except FileNotFoundError:
        raise StateFileError(f"{path} does not exist: this device has not joined") from None
    except OSError as error:
        raise StateFileError(f"{path} cannot be read: {error.strerror}") from None
    except StateFileError as error:
        raise StateFileError(f"{path}: {error}") from error


def _leave(options: argparse.Namespace) -> None:
    try:
        with Device.open(options.state) as device:
            is_made = device.phase is Phase.REPORTED
            device.leave()
            sent = "a report whose delivery failed may have arrived" if is_made else "nothing is sent"
            print_line(f"left “{device.recipe.name}”: its state is deleted, and {sent}")
    except ParticipationOverError:
        print_line("this device takes no part: nothing is sent from here on")
