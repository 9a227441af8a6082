"""TCP ports of this machine."""

import socket
from pathlib import Path

HOST = "127.0.0.1"


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of 127.0.0.1 now."""
    with socket.socket() as probe:
        # As servers do: a port whose last connections are still winding down is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def lasting_port(file: Path) -> int:
    """The port that `file` holds, so that an address outlives the process behind it; a fresh one at first.

    Where something else listens there now, another port, which is not remembered.
    """
    remembered = file.read_text() if file.exists() else ""
    if remembered.isdecimal():
        port = int(remembered)
        return port if is_free(port) else free_port()
    port = free_port()
    file.write_text(str(port))
    return port
