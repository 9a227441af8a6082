"""TCP ports of this machine."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOST = "127.0.0.1"
LARGEST_PORT = 65_535


@contextmanager
def held_port(port: int = 0) -> Iterator[int]:
    """A port of 127.0.0.1, held until the end: the system gives it to no other program until our server
    listens there, nor while that server restarts. A fresh one if `port` is 0.

    Web servers here listen with SO_REUSEPORT, so two with the same port would share its requests without an
    error. This socket never listens; with the same option it leaves the port to our own.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            holder.bind((HOST, port))
        except OSError:
            # The last connections of another program still wind down there. Only here, because with this
            # option the port would look free to others until our server listens.
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind((HOST, port))
        yield holder.getsockname()[1]


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


@contextmanager
def held_lasting_port(file: Path) -> Iterator[int]:
    """The port that `file` holds, so that an address outlives the process behind it; a fresh one on first
    use. Held as `held_port` does.

    If something else listens there, another port, which is not remembered.
    """
    remembered = file.read_text() if file.exists() else ""
    # A file that a crash left half-written is not believed.
    known = int(remembered) if remembered.isdecimal() and int(remembered) <= LARGEST_PORT else 0
    with held_port(known if known and is_free(known) else 0) as port:
        if not known:
            file.write_text(str(port))
        yield port
