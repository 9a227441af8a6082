"""A network between two aggregators that loses, doubles, delays and garbles; and processes that die."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum

from django.db import connection

from tests.concurrency import KilledError, killed_at_statement
from tests.faults.machines import Machine
from tests.network import Answer, in_process

Killed = KilledError
"""Under the name by which tests of other packages know it."""

_answer = in_process("http://testserver")


class Fault(StrEnum):
    """What happens to one request to the helper."""

    NONE = "none"
    DROP_REQUEST = "drop request"
    DROP_RESPONSE = "drop response"
    DOUBLE = "send twice"
    LATE = "deliver later"
    """The sender gives up; the request arrives at some later moment."""

    GARBLE = "garble the answer"
    ERROR = "answer 502 on the way"
    CRASH = "kill the helper at some statement"


class Network:
    """The transport of a `PeerClient`, with one fault a request.

    Attributes:
        next_fault: what happens to the next request.
        meanwhile: what another worker does while the next request is on its way; None for nothing.
        faults: how many requests had each; those that reached nobody too.
    """

    def __init__(self, helper: Machine, choices: random.Random) -> None:
        self._helper = helper
        self._choices = choices
        self._underway: list[Callable[[], Answer]] = []
        self.next_fault = Fault.NONE
        self.meanwhile: Callable[[], None] | None = None
        self.faults: Counter[Fault] = Counter()

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        assert not connection.in_atomic_block, "nothing is locked while a request is on its way"
        fault, self.next_fault = self.next_fault, Fault.NONE
        self.faults[fault] += 1
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None and self._choices.random() < 0.5:
            meanwhile()
            meanwhile = None
        try:
            return self._send(fault, method, url, headers, body)
        finally:
            if meanwhile is not None:
                meanwhile()

    def _send(self, fault: Fault, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        def deliver() -> Answer:
            return self._helper.run(lambda: _answer(method, url, headers, body))

        if fault is Fault.DROP_REQUEST:
            raise ConnectionRefusedError
        if fault is Fault.LATE:
            self._underway.append(deliver)
            raise TimeoutError
        if fault is Fault.CRASH:
            at = self._choices.randrange(25)
            with suppress(KilledError):
                self._helper.run(lambda: _die_at(at, lambda: _answer(method, url, headers, body)))
            raise ConnectionResetError
        if fault is Fault.ERROR:
            return 502, {"Content-Type": "text/html"}, b"<h1>Bad gateway</h1>"
        status, answered, content = deliver()
        if fault is Fault.DROP_RESPONSE:
            raise TimeoutError
        if fault is Fault.DOUBLE:
            status, answered, content = deliver()
        if fault is Fault.GARBLE:
            content = content[: len(content) // 2] + b"\0"
        return status, answered, content

    def deliver_late(self) -> None:
        """Let everything arrive that is still under way; nobody waits for the answers."""
        underway, self._underway = self._underway, []
        for deliver in underway:
            deliver()


def _die_at(number: int, work: Callable[[], Answer]) -> Answer:
    with killed_at_statement(number):
        return work()
