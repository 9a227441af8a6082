"""What one count of devices costs under three trust models: processor time of device, servers and verifier.

Run from the repository's root: `python -m benchmarks.trust_costs [--reports N]`. No process starts and no
database is used: it calls what devices and servers call, without HTTP and storage. One draft is published
three times, as `single_server`, `two_server` and `joint_key`, each with tokens. It prints milliseconds of
processor time on one core, for a step and for a report, each with its ratio to `single_server`, and bytes.

- The device: a step, and a report (its coin, and sealing both halves for two servers). Its token is not
  included: it is the same work in all three.
- A server: token, decryption or proofs, and its sum, in batches of 1,000. With a joint key also the report's
  signature, and the server's part of the decryption, with a proof.
- The verifier: everything in the bundle's list, both parts, the count. Only a joint key has one. Of its time,
  proofs are what equations in batches of 1,000 take, without reading points and tokens.

Each number is the least of three rounds. Exits with 1 if a step under a joint key takes more than 15 ms, or
proofs more than 3 ms a report.
"""

import argparse
import random
import secrets
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from panprivacy.device.tokens import TokenState, token_drawn
from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.encryption.interface import PublicKey
from panprivacy.protocols.dap.basics import Role
from panprivacy.protocols.dap.client import ShardedReport, seal_report
from panprivacy.protocols.dap.hpke import Recipient, generate_keypair, open_input_share
from panprivacy.protocols.dap.upload import InputShareAad, Report, ReportMetadata
from panprivacy.protocols.dap.vdafs import verifier_for
from panprivacy.protocols.encrypted_shares.shared_key import SharedKey
from panprivacy.protocols.joint_key.groups import Scalar
from panprivacy.protocols.joint_key.sums import DecryptionPart, ciphertext_sum, count_of
from panprivacy.protocols.prio3.interface import ReportInput, Transition
from panprivacy.protocols.privacy_pass import issuance, rsa_keys
from panprivacy.recipe.accepted_list import (
    PART_REPORTS,
    AcceptedList,
    CheckedPart,
    first_that_fails,
    joint_key_of,
    part_checked,
)
from panprivacy.recipe.dap_task import REPORT_TIME, task_of
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import TokenAdmission
from panprivacy.recipe.token import challenge, token_require, token_shown
from panprivacy.statistics.events.interface import Mechanism
from panprivacy.statistics.trust_models import Servers
from panprivacy.statistics.trust_models.joint_key import ROLES, JointKeyServers
from panprivacy.statistics.trust_models.single_server import OneServer
from panprivacy.statistics.trust_models.two_server import TwoServers
from tests.panprivacy.recipe.joint_key_scene import halves_made

MOST_STEP, MOST_PROOFS = 15.0, 3.0
ROUNDS, STEPS = 3, 20
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOURCE = secrets.SystemRandom()
TOKEN_KEY = rsa_keys.generate(SOURCE)


def milliseconds(work: Callable[[], object], times: int) -> float:
    """Processor time of one of `times` calls, the least of the rounds."""
    rounds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(times):
            work()
        rounds.append((time.process_time() - started) / times * 1e3)
    return min(rounds)


def verification_key() -> bytes:
    return Ed25519PrivateKey.generate().public_key().public_bytes_raw()


ISSUER_KEY = verification_key()


def published(servers: Servers) -> PublishedRecipe:
    """The same draft for each trust model."""
    draft = RecipeDraft.from_mapping(
        {
            "name": "Crashes",
            "question": "On how many devices did it crash?",
            "statistic": "count_nonzero",
            "trust": servers.trust,
            "steps": 24,
            "epsilon": 1.0,
            "delta": 1e-6,
            "cohort_size": 100,
            "admission": "token",
        }
    )
    admission = TokenAdmission(
        issuer_name="issuer.example",
        issuer_key=ISSUER_KEY,
        attester_url="https://attester.example",
        token_key=TOKEN_KEY.public.encoded,
    )
    return draft.publish(servers, NOW, admission=admission)


class Costs(ABC):
    """A published recipe, and what is done for its reports.

    Attributes:
        recipe: of this trust model.
        tokens, seeds: one for each report, in the order of their nonces.
    """

    recipe: PublishedRecipe

    def begin(self, reports: int) -> None:
        """Make reports, every other one a 1. No clock runs."""
        drawn = [token_drawn(self.recipe, SOURCE, now=NOW) for _ in range(reports)]
        drawn.sort(key=lambda state: state.report_nonce)
        self.seeds = [state.seed for state in drawn]
        self.tokens = [self._issued(state) for state in drawn]
        self.made = [self.report_of(state.report_nonce, place % 2) for place, state in enumerate(drawn)]

    def _issued(self, state: TokenState) -> bytes:
        digest = challenge(self.recipe).digest
        pending = issuance.ask_with(TOKEN_KEY.public, digest, state.nonce, state.salt, state.factor)
        return pending.finish(issuance.issue(TOKEN_KEY, pending.request, SOURCE)).encode()

    @property
    def mechanism(self) -> Mechanism[Any]:
        found = self.recipe.calibrated_statistic
        assert isinstance(found, Mechanism)
        return found

    def key_of(self, nonce: bytes) -> PublicKey:  # noqa: ARG002  # two servers' depends on it
        """The key of the device whose report has this nonce."""
        key = self.recipe.servers.device_key(self.recipe.identifier)
        assert key is not None
        return key

    def device(self) -> tuple[float, float, int, int]:
        """Of a step and a report in milliseconds, of state and report in bytes."""
        nonce = nonce_of(self.tokens[0])
        mechanism, key = self.mechanism, self.key_of(nonce)
        state = mechanism.step(key, mechanism.start(key, SOURCE), 0, 1, SOURCE)
        step = milliseconds(lambda: mechanism.step(key, state, 0, 2, SOURCE), STEPS)
        report = milliseconds(lambda: self.sent(nonce, mechanism.report(key, state, SOURCE)), STEPS)
        sent = self.sent(nonce, mechanism.report(key, state, SOURCE))
        return step, report, sum(len(bytes(each)) for each in state), len(sent)

    def report_of(self, nonce: bytes, count: int) -> bytes:
        return self.sent(nonce, self.mechanism.report_of_count(self.key_of(nonce), count, SOURCE))

    def sent(self, nonce: bytes, report: Sequence[Any]) -> bytes:  # noqa: ARG002  # two servers' depends on it
        """What the device uploads with its token."""
        return b"".join(map(bytes, report))

    @abstractmethod
    def servers(self) -> dict[str, float]:
        """Of leader, helper and verifier, in milliseconds a report."""

    def require_tokens(self) -> None:
        for token in self.tokens:
            token_require(self.recipe, token, nonce_of(token))

    def for_each(self, work: Callable[[], object]) -> float:
        return milliseconds(work, 1) / len(self.made)


class OneServerCosts(Costs):
    """ElGamal: the server decrypts each report."""

    def __init__(self) -> None:
        self._key = generate_private_key(DEFAULT_SCHEME, SOURCE)
        self.recipe = published(OneServer.of(self._key.public_key))

    def servers(self) -> dict[str, float]:
        def work() -> None:
            self.require_tokens()
            allowed = self.mechanism.allowed_values
            sum(self._key.decrypt(self._key.public_key.parse(each), allowed) for each in self.made)

        return {"leader": self.for_each(work)}


class TwoServerCosts(Costs):
    """ElGamal under two keys, and Prio3: each server opens, decrypts and verifies its halves."""

    def __init__(self) -> None:
        self._keys = {
            role: generate_private_key(DEFAULT_SCHEME, SOURCE) for role in (Role.LEADER, Role.HELPER)
        }
        leader, helper = (key.public_key.to_json() for key in self._keys.values())
        self.recipe = published(
            TwoServers(
                leader_url="https://leader.example",
                leader_key_members=leader,
                helper_url="https://helper.example",
                helper_key_members=helper,
                helper_verification_key=verification_key(),
            )
        )
        self._task_id, self._configuration = task_of(self.recipe)
        kem = {} if self.recipe.hpke is None else {"kem": self.recipe.hpke}
        self._sealed_to = {role: generate_keypair(1, SOURCE, **kem) for role in self._keys}

    def key_of(self, nonce: bytes) -> PublicKey:
        key = super().key_of(nonce)
        assert isinstance(key, SharedKey)
        return key.bound_to(nonce)

    def sent(self, nonce: bytes, report: Sequence[Any]) -> bytes:
        key = self.key_of(nonce)
        assert isinstance(key, SharedKey)
        parts = [key.split(bytes(sharing)) for sharing in report]
        leader, helper = (b"".join(part[side] for part in parts) for side in (0, 1))
        sharded = ShardedReport(ReportMetadata(nonce, REPORT_TIME), b"", leader, helper)
        (leader_config, _), (helper_config, _) = self._sealed_to.values()
        return seal_report(
            sharded, self._task_id, self._configuration, leader_config, helper_config, SOURCE
        ).encode()

    def servers(self) -> dict[str, float]:
        reports = [Report.decode(each) for each in self.made]
        verify_key = secrets.token_bytes(32)
        leader, helper = (
            verifier_for(self._configuration, self._task_id, role, verify_key, key)
            for role, key in self._keys.items()
        )

        def opened(role: Role) -> list[ReportInput]:
            self.require_tokens()
            recipient = Recipient(*self._sealed_to[role])
            inputs = []
            for report in reports:
                sealed = (
                    report.leader_encrypted_input_share
                    if role is Role.LEADER
                    else report.helper_encrypted_input_share
                )
                aad = InputShareAad(
                    self._task_id, self._configuration, report.report_metadata, report.public_share
                )
                share = open_input_share(recipient, role, aad, sealed).payload
                inputs.append(ReportInput(report.report_metadata.report_id, report.public_share, share))
            return inputs

        prepared = transitions(leader.leader_init(opened(Role.LEADER)))
        messages = [each.outbound for each in prepared]
        answers = transitions(helper.helper_init(opened(Role.HELPER), messages))
        answered = [each.outbound for each in answers]

        def leads() -> None:
            states = [each.state for each in transitions(leader.leader_init(opened(Role.LEADER)))]
            shares = leader.leader_finish(states, answered)
            leader.aggregate(each for each in shares if isinstance(each, bytes))

        def helps() -> None:
            done = transitions(helper.helper_init(opened(Role.HELPER), messages))
            helper.aggregate(each.out_share for each in done)

        return {"leader": self.for_each(leads), "helper": self.for_each(helps)}


class JointKeyCosts(Costs):
    """Each server checks the list, and decrypts the sum in part."""

    def __init__(self) -> None:
        blank = JointKeyServers.blank("https://helper.example", verification_key())
        joint = halves_made(published, blank, SOURCE)
        self.recipe, self._secrets = joint.recipe, joint.secrets
        assert isinstance(self.recipe.servers, JointKeyServers)
        self._halves = self.recipe.servers.halves[0]

    def servers(self) -> dict[str, float]:
        records = [
            token_shown(token, seed, [report]) + report
            for token, seed, report in zip(self.tokens, self.seeds, self.made, strict=True)
        ]
        parts = [
            b"".join(records[start : start + PART_REPORTS]) for start in range(0, len(records), PART_REPORTS)
        ]

        def checked(random_source: random.Random) -> tuple[AcceptedList, Any]:
            found: list[CheckedPart] = []
            for part in parts:
                first, after = PART_REPORTS * len(found) + 1, found[-1].last_nonce if found else b""
                found.append(
                    part_checked(self.recipe, part, first=first, after=after, random_source=random_source)
                )
            reports = sum(part.reports for part in found)
            accepted = AcceptedList.of(self.recipe.identifier, reports, [part.digest for part in found])
            return accepted, ciphertext_sum(part.total for part in found)

        def serves(role: str, secret: Scalar) -> DecryptionPart:
            accepted, total = checked(SOURCE)
            return DecryptionPart.made(accepted.decryption_context(role), total, secret, SOURCE)

        decrypted = [serves(role, secret) for role, secret in zip(ROLES, self._secrets, strict=True)]

        key = joint_key_of(self.recipe)
        bits = [key.parse(report) for report in self.made]

        def holds() -> None:
            for start in range(0, len(bits), PART_REPORTS):
                if first_that_fails(key, bits[start : start + PART_REPORTS], SOURCE) is not None:
                    raise ValueError("an honest proof does not hold")

        def verifies() -> None:
            accepted, total = checked(SOURCE)
            for role, part, half in zip(ROLES, decrypted, self._halves, strict=True):
                part.require_proved(accepted.decryption_context(role), total, half)
            count_of(total, decrypted, accepted.reports)

        return {
            **{
                role: self.for_each(partial(serves, role, secret))
                for role, secret in zip(ROLES, self._secrets, strict=True)
            },
            "verifier": self.for_each(verifies),
            "verifier's proofs": self.for_each(holds),
        }


def nonce_of(token: bytes) -> bytes:
    """16 bytes of a token: the report's nonce."""
    return token[18:34]


def transitions(outcomes: Sequence[Any]) -> list[Transition]:
    """What came of honest reports."""
    for each in outcomes:
        if not isinstance(each, Transition):
            raise TypeError(f"an honest report was rejected: {each}")
    return list(outcomes)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reports", type=int, default=1_000)
    reports = parser.parse_args().reports
    costs = {"single_server": OneServerCosts(), "two_server": TwoServerCosts(), "joint_key": JointKeyCosts()}
    rows: dict[str, dict[str, float]] = {}
    for name, each in costs.items():
        each.begin(reports)
        step, report, state_bytes, report_bytes = each.device()
        rows[name] = {
            "device: step, ms": step,
            "device: report, ms": report,
            f"device: {each.mechanism.parameters.steps} steps and a report, ms": step
            * each.mechanism.parameters.steps
            + report,
            **{f"{role}: ms a report": spent for role, spent in each.servers().items()},
            "state, bytes": state_bytes,
            "report without its token, bytes": report_bytes,
        }
    single = rows["single_server"]
    print(f"{reports:,} reports each; processor time on one core\n")
    print(f"{'':40}" + "".join(f"{name:>22}" for name in rows))
    for what in rows["joint_key"]:
        cells = []
        for row in rows.values():
            # With one server there is one, and no verifier.
            base = single.get(what, single["leader: ms a report"])
            value = row.get(what)
            digits = 0 if "bytes" in what else 3
            cells.append("–" if value is None else f"{value:,.{digits}f} {f'({value / base:.0f}×)':>7}")
        print(f"{what:40}" + "".join(f"{cell:>22}" for cell in cells))
    joint = rows["joint_key"]
    met = joint["device: step, ms"] <= MOST_STEP and joint["verifier's proofs: ms a report"] <= MOST_PROOFS
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
