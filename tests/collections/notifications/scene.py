"""A receiver's address, and the log as the outbox reads it."""

from notifications.outbox import log_read

HOOK = "https://receiver.example/hook"


def read_all() -> None:
    while log_read():
        pass
