"""What the processes of the installation share: its addresses, its clock, and getting ready."""

import os
import socket
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

PORTS = {"leader": 47_000, "helper": 47_001, "shuffler": 47_002}
"""They stand in recipes and tasks; nobody listens there."""


def begin(now: datetime) -> None:
    """Set up Django as the product does for the role in the environment, and bring its database up to date.

    Args:
        now: what the clock shows from here on. All that is half done is of that day, and would be out of
            date on ours.
    """
    os.environ["DJANGO_SETTINGS_MODULE"] = "panapp.settings"
    shift_clock(now - datetime.now(UTC))
    import django

    import panapp  # noqa: F401  # puts the apps on the import path

    django.setup()
    from django.core.management import call_command

    from panapp.static_files import static_files_prepare

    static_files_prepare()
    call_command("migrate", verbosity=0, interactive=False)


def shift_clock(by: timedelta) -> None:
    """Let so much time pass for this process, by all of its clocks."""
    from django.utils import timezone

    before, steady = timezone.now, time.clock_gettime
    timezone.now = lambda: before() + by
    time.clock_gettime = lambda clock: steady(clock) + by.total_seconds()


def listen_elsewhere(ports: dict[int, int]) -> None:
    """Let connections to a port of `PORTS` reach another one."""
    look_up = socket.getaddrinfo

    def found(host: Any, port: Any, *args: Any, **named: Any) -> Any:
        return look_up(host, ports.get(port, port), *args, **named)

    socket.getaddrinfo = found


def main() -> None:
    """A helper or a shuffler: says on which port it listens, and serves until it is ended."""
    begin(datetime.fromisoformat(sys.argv[1]))
    from wsgiref.simple_server import WSGIRequestHandler, make_server

    from panapp.wsgi import application

    class Handler(WSGIRequestHandler):
        def get_environ(self) -> dict[str, Any]:
            environ = super().get_environ()
            if "Content-Type" not in self.headers:
                # Where there is none, wsgiref says text/plain, and a signature would not cover it.
                del environ["CONTENT_TYPE"]
            return environ

        def log_message(self, *_: Any) -> None:
            """Only the answers matter."""

    with make_server("127.0.0.1", int(sys.argv[2]), application, handler_class=Handler) as server:
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()
