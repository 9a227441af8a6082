"""Random sequences of token requests with crashes, lost answers, races, replays and clocks that jump.

The attester's own code runs against a database. The issuer is a small one without RSA: what it signs is a
number, and what it seals says which. A race is a request that runs as a whole while another one waits for the
issuer: what is stored is stored in one transaction, so that two requests can meet nowhere else.
"""

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from django.db import connection

from attester.issuer import Evaluated, issuer_failed
from attester.issuing import token_answer
from attester.models import Answer, Handle, Issued
from attester.settling import answers_erase, handles_told, handles_untold
from panprivacy.oblivious_prf import evaluation
from web.problems import Problem, unavailable

RECIPES, DEVICES = 2, 3
STEPS = 12
DEEPEST = 3
"""Requests that wait for the issuer at once."""


class CrashError(BaseException):
    """The process dies."""


@dataclass(frozen=True)
class Capsule:
    """A sealed request: of one recipe, with one blinded message."""

    recipe: int
    message: int
    content: bytes


@dataclass
class SmallIssuer:
    """Signs each blinded message once, and remembers under which handle.

    Attributes:
        fault: what happens at the next request; afterwards nothing does.
        meanwhile: runs while the request is on its way.
    """

    keys: list[bytes]
    capsules: dict[bytes, Capsule] = field(default_factory=dict)
    handles: dict[tuple[int, int], bytes] = field(default_factory=dict)
    withheld: set[bytes] = field(default_factory=set)
    fault: str = ""
    meanwhile: Callable[[], None] = lambda: None

    def answer(self, element: bytes, capsule: bytes, withheld: Sequence[bytes]) -> Evaluated:
        fault, meanwhile = self.fault, self.meanwhile
        self.fault, self.meanwhile = "", lambda: None
        self._break(fault, "before")
        asked = self.capsules[capsule]
        self.withheld.update(withheld)
        name = (asked.recipe, asked.message)
        handle = self.handles.setdefault(name, hashlib.sha256(repr(name).encode()).digest()[:16])
        evaluated = evaluation.evaluate(self.keys[asked.recipe], element)
        meanwhile()
        self._break(fault, "after")
        if fault == "wrong element":
            evaluated = b"\2" + b"\xff" * 32
        return Evaluated(asked.message.to_bytes(8, "big"), evaluated, handle)

    def _break(self, fault: str, when: str) -> None:
        if fault == f"crash {when}":
            raise CrashError
        if fault == f"down {when}":
            raise unavailable("The issuer does not answer.")
        if fault == f"nonsense {when}":
            raise issuer_failed("Nonsense.")


FAULTS = (
    *("", "", ""),
    *("crash before", "crash after", "down before", "down after", "nonsense after", "wrong element"),
)


class Course:
    """One sequence of events, and what came of it.

    Args:
        sharing: whether devices send blinded messages of each other, which honest ones never do.
    """

    def __init__(self, seed: int, *, sharing: bool) -> None:
        self.random = random.Random(seed)
        self.sharing = sharing
        self.issuer = SmallIssuer([evaluation.new_key(self.random) for _ in range(RECIPES)])
        self.pseudonyms = [self.random.randbytes(32) for _ in range(DEVICES)]
        self.capsules: dict[tuple[int, int], list[Capsule]] = defaultdict(list)
        self.delivered: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.today = date(2026, 11, 23)
        self.messages = 0

    def run(self) -> None:
        for _ in range(self.random.randrange(2, STEPS)):
            self._step(0)
        self._settle_down()
        self._check()

    def _step(self, depth: int) -> None:
        kind = self.random.randrange(20)
        if kind == 0:
            self.today += timedelta(days=self.random.choice((-1, 1, 1, 2)))
        elif kind == 1:
            with self._dying():
                answers_erase(today=self.today)
        elif kind == 2:
            with self._dying():
                told = handles_untold()
                self.issuer.withheld.update(told)
                handles_told(told)
        else:
            self._request(depth)

    def _request(self, depth: int) -> None:
        device = self.random.randrange(DEVICES)
        capsule = self._capsule(device, self.random.randrange(RECIPES))
        self.issuer.fault = self.random.choice(FAULTS)
        if depth < DEEPEST and self.random.random() < 0.4:
            self.issuer.meanwhile = lambda: self._step(depth + 1)
        lost = self.random.random() < 0.2
        with self._dying():
            self._send(device, capsule, lost=lost)
        self.issuer.fault, self.issuer.meanwhile = "", lambda: None

    def _send(self, device: int, capsule: Capsule, *, lost: bool = False) -> bool:
        try:
            answer = token_answer(
                pseudonym=self.pseudonyms[device],
                capsule=capsule.content,
                issuer=self.issuer,
                today=self.today,
            )
        except Problem:
            return False
        if not lost:
            self.delivered[device, capsule.recipe].add(int.from_bytes(answer, "big"))
        return True

    def _capsule(self, device: int, recipe: int) -> Capsule:
        """One from before, or a new one of its message or of a fresh one; if shared, of another device."""
        owner = self.random.randrange(DEVICES) if self.sharing else device
        before = self.capsules[owner, recipe]
        draw = self.random.random()
        if before and draw < 0.5:
            return self.random.choice(before)
        if before and draw < 0.65:
            return self._sealed(device, recipe, self.random.choice(before).message)
        self.messages += 1
        return self._sealed(device, recipe, self.messages)

    def _sealed(self, device: int, recipe: int, message: int) -> Capsule:
        capsule = Capsule(recipe, message, self.random.randbytes(32))
        self.issuer.capsules[capsule.content] = capsule
        self.capsules[device, recipe].append(capsule)
        return capsule

    @contextmanager
    def _dying(self) -> Iterator[None]:
        """The process may die before any of its statements; what was not committed is gone."""
        left = self.random.randrange(25) if self.random.random() < 0.3 else -1

        def statement(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            nonlocal left
            # Tests run within a transaction, whose savepoints must be undone in order.
            left -= not sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK"))
            if left == 0:
                left = -1
                raise CrashError
            return execute(sql, params, many, context)

        try:
            with connection.execute_wrapper(statement):
                yield
        except CrashError:
            # What was under way is undone; the test's own transaction goes on.
            connection.set_rollback(False)

    def _settle_down(self) -> None:
        """Everything works again: each device that asked tries what it sent before, and then afresh."""
        for (device, recipe), capsules in list(self.capsules.items()):
            answered = [self._send(device, capsule) for capsule in capsules]
            afresh = self._send(device, self._sealed(device, recipe, self.messages + 1))
            self.messages += 1
            if not self.sharing:
                assert any(answered), "a device is kept from its token"
                assert not afresh, "a second token"
        told = handles_untold()
        self.issuer.withheld.update(told)
        handles_told(told)

    def _check(self) -> None:
        for recipe in range(RECIPES):
            of_all = {m for (_, of), each in self.delivered.items() if of == recipe for m in each}
            assert len(of_all) <= DEVICES, "more tokens than devices"
            handed_out = {self.issuer.handles[recipe, message] for message in of_all}
            assert not handed_out & self.issuer.withheld, "a token in use is not counted"
        if not self.sharing:
            assert all(len(messages) <= 1 for messages in self.delivered.values()), "a second token"
        assert not Handle.objects.filter(withheld=True, told=False).exists()


def forget_everything() -> None:
    """Between two sequences."""
    for model in (Answer, Handle, Issued):
        model.objects.all().delete()
