"""Two servers with keys of one scheme: what devices encrypt to, and what both make of the reports."""

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from panprivacy.encryption import generate_private_key
from panprivacy.encryption.interface import Ciphertext, PrivateKey
from panprivacy.protocols.encrypted_shares.shared_key import SharedKey
from panprivacy.protocols.encrypted_shares.verifier import PanPrivateVerifier
from panprivacy.protocols.prio3.interface import Rejected, ReportInput, Transition
from tests.panprivacy.encryption.schemes import ONE_PER_FILE
from tests.panprivacy.encryption.tables import with_tables

CONTEXT = b"dap-18" + bytes(range(32))
VERIFY_KEY = bytes(range(100, 132))
NONCE = bytes(range(16))


@functools.cache
def key_of(scheme: str, seed: int) -> PrivateKey:
    """The same key each time: worth nothing, known to everyone."""
    return generate_private_key(scheme, random.Random(seed))


@dataclass(frozen=True)
class SentReport:
    """A nonce with the parts of the leader and of the helper, each as that server receives it."""

    nonce: bytes
    leader: bytes
    helper: bytes


class Servers:
    """Leader and helper, each with its own private key."""

    def __init__(self, leader: PrivateKey, helper: PrivateKey, context: bytes = CONTEXT) -> None:
        self.leader = leader
        self.helper = helper
        self.context = context
        self.unbound = SharedKey(with_tables(leader.public_key), with_tables(helper.public_key), context)
        self.key = self.unbound.bound_to(NONCE)

    def sent(self, report: Sequence[Ciphertext], nonce: bytes = NONCE) -> SentReport:
        parts = [self.unbound.split(bytes(sharing)) for sharing in report]
        return SentReport(nonce, b"".join(p[0] for p in parts), b"".join(p[1] for p in parts))

    def verifiers(
        self, length: int, verify_key: bytes = VERIFY_KEY
    ) -> tuple[PanPrivateVerifier, PanPrivateVerifier]:
        return (
            PanPrivateVerifier(length, self.leader, 0, verify_key, self.context),
            PanPrivateVerifier(length, self.helper, 1, verify_key, self.context),
        )

    def out_shares(self, reports: Sequence[SentReport], length: int) -> list[tuple[bytes, bytes] | Rejected]:
        """Both output shares of every report, or why it is rejected, by whoever does so first."""
        leader, helper = self.verifiers(length)
        outcomes: list[tuple[bytes, bytes] | Rejected | Transition] = list(
            leader.leader_init([ReportInput(r.nonce, b"", r.leader) for r in reports])
        )
        ready = [i for i, one in enumerate(outcomes) if isinstance(one, Transition)]
        states = [outcomes[i].state for i in ready]
        answers = helper.helper_init(
            [ReportInput(reports[i].nonce, b"", reports[i].helper) for i in ready],
            [outcomes[i].outbound for i in ready],
        )
        for i, answer in zip(ready, answers, strict=True):
            outcomes[i] = answer
        accepted = [
            (i, state, answer)
            for i, state, answer in zip(ready, states, answers, strict=True)
            if isinstance(answer, Transition)
        ]
        finished = leader.leader_finish([a[1] for a in accepted], [a[2].outbound for a in accepted])
        for (i, _, answer), share in zip(accepted, finished, strict=True):
            outcomes[i] = (share, answer.out_share) if isinstance(share, bytes) else share
        return outcomes

    def sum(self, outcomes: Sequence[tuple[bytes, bytes] | Rejected], length: int) -> tuple[int, ...]:
        """The sum of what `out_shares` accepted."""
        leader, helper = self.verifiers(length)
        accepted = [one for one in outcomes if isinstance(one, tuple)]
        return leader.unshard(
            leader.aggregate(one[0] for one in accepted),
            helper.aggregate(one[1] for one in accepted),
            len(accepted),
        )

    def bits(self, report: Sequence[Ciphertext], nonce: bytes = NONCE) -> tuple[int, ...]:
        """What the sharings of one report are of; raises where the servers reject it."""
        (outcome,) = self.out_shares([self.sent(report, nonce)], len(report))
        if not isinstance(outcome, tuple):
            raise outcome
        leader, _ = self.verifiers(len(report))
        return leader.unshard(*outcome, 1)


MakeServers = Callable[[str], Servers]


@pytest.fixture(scope="session")
def servers_of() -> MakeServers:
    return functools.cache(lambda scheme: Servers(key_of(scheme, 11), key_of(scheme, 12)))


@pytest.fixture(scope="session", params=ONE_PER_FILE)
def servers(request, servers_of) -> Servers:
    return servers_of(request.param)
