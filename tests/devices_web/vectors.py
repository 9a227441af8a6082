"""What devices in Python and in the browser must do alike: `python -m tests.devices_web.vectors` writes it.

A case has a recipe, the bytes that stand for randomness (a seed of `GivenBytes`), and events; and with them
every state, the report, and its upload. From the same bytes either side makes the same, byte for byte.
"""

import base64
import functools
import hashlib
import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.accounting.trust import Trust
from panprivacy.device import state_file
from panprivacy.device.algorithm import ClientAlgorithm, DeviceState, Phase, wire_report
from panprivacy.device.client import Device
from panprivacy.device.lifetime import LifetimeBudget, LifetimeMemory
from panprivacy.device.state_file import Enrolment
from panprivacy.device.storage import MemoryStore
from panprivacy.device.token_answers import OF_ATTESTER, OF_ISSUER
from panprivacy.device.tokens import TokenState, token_drawn
from panprivacy.device.transport import WireReport
from panprivacy.device.value_reports.randomized import RandomizedReports
from panprivacy.device.view import state_view
from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.encryption.interface import PrivateKey, key_of_report
from panprivacy.planning.limits import LimitError, report_epsilon
from panprivacy.protocols.dap.basics import HpkeConfig
from panprivacy.protocols.dap.client import ShardedReport, seal_report
from panprivacy.protocols.dap.hpke import generate_keypair
from panprivacy.protocols.dap.token_extension import token_extension
from panprivacy.protocols.dap.upload import ReportMetadata
from panprivacy.protocols.encrypted_shares.shared_key import SharedKey
from panprivacy.protocols.hpke import KemName
from panprivacy.protocols.oblivious_http import capsules, keys, padding, signed_keys
from panprivacy.protocols.oblivious_http.binary_http import Request, Response
from panprivacy.protocols.privacy_pass import issuance, rsa_keys
from panprivacy.protocols.privacy_pass.tokens import TOKEN_TYPE, TokenChallenge
from panprivacy.protocols.transparency.cosignature import cosign
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.protocols.transparency.proof import Proof
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, VerifierKey
from panprivacy.recipe.dap_task import REPORT_TIME, task_of
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.request_bytes import published_report_bytes
from panprivacy.recipe.token import challenge
from panprivacy.statistics.events import discrete_gaussian
from panprivacy.statistics.randomized.categories import CategoriesParameters
from panprivacy.statistics.trust_models.single_server import OneServer
from tests.panprivacy.device.public_log import LOG, MemoryLog, entry_of, other_entries
from tests.panprivacy.device.server import SIGNING_KEY, VERIFICATION_KEY
from tests.panprivacy.device.two_servers import (
    HELPER_KEY,
    HELPER_SIGNING_KEY,
    served_by_two,
    two_server_recipe,
)
from tests.panprivacy.protocols import ed25519_cases
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.tokens import ISSUER_KEY, token_admission

FOLDER = Path(__file__).parent.parent.parent / "devices_web" / "vectors"
STEPS = 5

BROWSERS = {"hpke": "x25519"}
TWO_SERVERS, TOKEN = {"trust": "two_server"} | BROWSERS, {"admission": "token"} | BROWSERS
REGULAR: dict[str, dict[str, Any]] = {
    "funnel": {"statistic": "funnel", "events": ["open", "search", "buy"]},
    "retention": {
        "statistic": "retention",
        "event": "open",
        "period_steps": 1,
        "periods": 5,
        "hidden_count": {"epsilon": 1.0, "delta": 1e-6},
        "population_size": 300,
        "sampling_rate": 0.5,
    },
    "time-to-first": {"statistic": "time_to_first", "event": "buy", "within": [1, 3]},
    "longest-streak": {"statistic": "longest_streak", "event": "open", "longest": 3},
    "both": {"statistic": "both", "events": ["search", "buy"]},
    "automaton": {
        "statistic": "automaton",
        "events": ["open", "close"],
        "states": ["closed", "open", "again"],
        "start": "closed",
        "on": {"open": {"closed": "open"}, "close": {"open": "closed", "again": "closed"}},
        "at": {"3": {"open": "again"}},
        "cells": {"no": ["closed"], "yes": ["again", "open"]},
    },
}

COINS = {"": {"coin": "vector"}, "-bucket": {"coin": "bucket"}}
ASKED: dict[str, dict[str, Any]] = {
    "count": {"statistic": "count_nonzero"},
    "count-of-some": {"statistic": "count_nonzero", "sampling_rate": 0.5},
    "histogram": {"statistic": "histogram", "k": 2, "coin": "bucket"},
    "histogram-vector": {"statistic": "histogram", "k": 2, "coin": "vector"},
    "histogram-vector-of-some": {
        "statistic": "histogram",
        "k": 2,
        "coin": "vector",
        "hidden_count": {"epsilon": 1.0, "delta": 1e-6},
        "population_size": 300,
        "sampling_rate": 0.5,
    },
    "mean": {"statistic": "mean", "k": 2, "guarantee": "local"},
    "categories": {"statistic": "categories", "k": 6, "steps": None},
    "count-two-servers": {"statistic": "count_nonzero"} | TWO_SERVERS,
    "histogram-two-servers": {"statistic": "histogram", "k": 2} | TWO_SERVERS,
    "categories-two-servers": {"statistic": "categories", "k": 6, "steps": None} | TWO_SERVERS,
    "count-with-token": {"statistic": "count_nonzero"} | TOKEN,
    "count-of-some-with-token": {"statistic": "count_nonzero", "sampling_rate": 0.5} | TOKEN,
    "histogram-two-servers-with-token": {"statistic": "histogram", "k": 2} | TWO_SERVERS | TOKEN,
    "funnel-of-six": {"statistic": "funnel", "events": ["a", "b", "c", "d", "e", "f"], "coin": "vector"},
    **{name + end: asked | coin for name, asked in REGULAR.items() for end, coin in COINS.items()},
}
"""Name of a case → what its recipe asks."""

EVENTS = ([0, 0, 0, 0, 0], [0, 1, 0, 1, 1])
EVENTS_OF_SEVERAL = ([0, 0, 0, 0, 0], [1, 2, 0, 3, 1])
"""By step, what happened; of several events bit i tells of the i-th."""
TICKS = {"count": [0, 1, 0], "count-two-servers": [1, 0], "histogram": [0, 0]}
"""Name of a case → whether an event happened before each tick."""


class GivenBytes(random.Random):
    """Bytes that a seed determines, in place of the system's: SHA-256(seed ‖ 0), SHA-256(seed ‖ 1), …

    Draws take them as `random.SystemRandom` takes those of the system.
    """

    def __init__(self, seed: str) -> None:
        super().__init__(0)
        self._seed = seed.encode()
        self._block = 0
        self._rest = b""

    def randbytes(self, n: int) -> bytes:
        while len(self._rest) < n:
            self._rest += hashlib.sha256(self._seed + self._block.to_bytes(8, "big")).digest()
            self._block += 1
        taken, self._rest = self._rest[:n], self._rest[n:]
        return taken

    def getrandbits(self, k: int) -> int:
        length = -(-k // 8)
        return int.from_bytes(self.randbytes(length), "big") >> (8 * length - k)

    def random(self) -> float:
        return self.getrandbits(53) / 2**53


@functools.cache
def private_key() -> PrivateKey:
    """Of the single server; worth nothing, known to everyone."""
    return generate_private_key(DEFAULT_SCHEME, GivenBytes("private key"))


@functools.cache
def recipe_of(name: str, **changes: Any) -> PublishedRecipe:
    """The recipe of a case, some members of which may be others: for simulated devices, so that a few reports
    are a cohort."""
    asked = {
        "name": "Shared screens",
        "question": "How often was the café's opening time looked up? “Öffnungszeiten”",
        "steps": STEPS,
        "epsilon": 2.0,
        "delta": 1e-6,
        "cohort_size": 5,
        **ASKED[name],
        **changes,
    }
    has_tokens = asked.get("admission") == "token"
    if asked.get("trust") == Trust.TWO_SERVER:
        return two_server_recipe(tokens=has_tokens, **asked)
    draft = RecipeDraft.from_mapping({name: value for name, value in asked.items() if value is not None})
    return draft.publish(
        OneServer.of(private_key().public_key),
        datetime(2026, 1, 1, tzinfo=UTC),
        simulation=True,
        admission=token_admission() if has_tokens else None,
    )


def served(recipe: PublishedRecipe) -> dict[str, Any]:
    """As the API serves it, and the keys that a device pins."""
    two, has_tokens = recipe.trust == Trust.TWO_SERVER, recipe.admission is not None
    issuer = _text(ISSUER_KEY.public_key().public_bytes_raw())
    return {
        "served": {
            "id": recipe.identifier,
            "document": recipe.document,
            "signature": _text(recipe.sign(SIGNING_KEY)),
            "status": "open",
            **({"helper_signature": _text(recipe.sign(HELPER_SIGNING_KEY))} if two else {}),
            **({"issuer_signature": _text(recipe.sign(ISSUER_KEY))} if has_tokens else {}),
        },
        "keys": {
            "server": _text(VERIFICATION_KEY),
            **({"helper": _text(HELPER_KEY)} if two else {}),
            **({"issuer": issuer} if has_tokens else {}),
        },
    }


def kept(state: DeviceState) -> dict[str, Any]:
    """What a state says beside the recipe."""
    if state.phase is Phase.DONE:
        return {"phase": state.phase.value}
    return {
        "phase": state.phase.value,
        "step": state.step,
        "ciphertexts": [_text(bytes(ciphertext)) for ciphertext in state.ciphertexts],
        "nonce": _text(state.nonce),
    }


def ticked(recipe: PublishedRecipe, state: DeviceState, event: bool, source: random.Random) -> DeviceState:
    """The state after a tick between steps, which only browsers take: only a count takes events in."""
    key, ciphertexts = key_of_report(recipe.public_key, state.nonce), state.ciphertexts
    if recipe.statistic == "count_nonzero":
        own = (key.replace_or_rerandomize(event, 1, ciphertexts[0], source, rerandomizations=1),)
        return replace(state, ciphertexts=own)
    return replace(state, ciphertexts=tuple(key.rerandomize(own, source) for own in ciphertexts))


def token_members(recipe: PublishedRecipe, token: TokenState) -> dict[str, Any]:
    """What a state file says of a token."""
    enrolment = Enrolment(served_by_two(recipe), VERIFICATION_KEY, "")
    content = state_file.encode(enrolment, DeviceState(phase=Phase.NOT_SAMPLED), token)
    members: dict[str, Any] = json.loads(content.split(b"\n")[2])["token"]
    return members


def token_came(recipe: PublishedRecipe, drawn: TokenState) -> TokenState:
    """The state once the issuer, whose key everyone knows, has answered."""
    key = seeded_key()
    pending = issuance.ask_with(key.public, challenge(recipe).digest, drawn.nonce, drawn.salt, drawn.factor)
    token = pending.finish(issuance.issue(key, pending.request, random.Random(1)))
    return replace(drawn, salt=b"", factor=0, token=token.encode())


def walk(
    recipe: PublishedRecipe, seed: str, events: Sequence[int], ticks: Sequence[int] = ()
) -> tuple[list[DeviceState], list[TokenState]]:
    """The state at the start, after every tick (before the first step) and step, and with the report; and of
    the token as it is drawn and as it came, before the report."""
    source, algorithm = GivenBytes(seed), ClientAlgorithm(recipe)
    tokens = []
    if recipe.admission is not None:
        drawn = token_drawn(recipe, source, now=recipe.opens_at)
        tokens = [drawn, token_came(recipe, drawn)]
    nonce = tokens[0].report_nonce if tokens else None
    states = [algorithm.start(source, nonce)]
    for event in ticks:
        states.append(ticked(recipe, states[-1], bool(event), source))
    for event in events:
        states.append(algorithm.step(states[-1], event, source))
    return [*states, algorithm.finish(states[-1], source, nonce)], tokens


def shares_of(recipe: PublishedRecipe, parts: Sequence[bytes]) -> Sequence[bytes]:
    """Public share, leader's and helper's, of the parts of a report."""
    if recipe.servers.scheme is None:
        return parts
    key = recipe.public_key
    assert isinstance(key, SharedKey)
    split = [key.split(part) for part in parts]
    return b"", b"".join(leader for leader, _ in split), b"".join(helper for _, helper in split)


def hpke_configs() -> list[HpkeConfig]:
    """That `uploaded` seals to, the leader's first."""
    return [generate_keypair(side, GivenBytes(f"hpke {side}"), KemName.X25519)[0] for side in (0, 1)]


def uploaded(recipe: PublishedRecipe, report: WireReport, seed: str) -> str:
    """The upload of a report to two servers, sealed to keys that everyone knows."""
    task_id, configuration = task_of(recipe)
    extensions = () if report.token is None else (token_extension(report.token),)
    metadata = ReportMetadata(report.nonce, REPORT_TIME, extensions)
    sharded = ShardedReport(metadata, *shares_of(recipe, report.ciphertexts))
    source = GivenBytes(f"{seed} seal")
    return _text(seal_report(sharded, task_id, configuration, *hpke_configs(), source).encode())


def device_case(name: str, seed: str, events: Sequence[int], ticks: Sequence[int] = ()) -> dict[str, Any]:
    """A device that takes steps, and ticks before the first."""
    recipe = recipe_of(name)
    states, tokens = walk(recipe, seed, events, ticks)
    case = {"name": name, "seed": seed, "events": events, "states": list(map(kept, states))}
    if ticks:
        case["ticks"] = ticks
    if tokens:
        case["tokens"] = [token_members(recipe, token) for token in tokens]
    if recipe.trust == Trust.TWO_SERVER and states[-1].phase is Phase.REPORTED:
        shown = tokens[-1].token if tokens else None
        case["upload"] = uploaded(recipe, replace(wire_report(states[-1]), token=shown), seed)
    return case


def value_case(name: str, seed: str, value: int) -> dict[str, Any]:
    """A device with one value."""
    recipe, source = recipe_of(name), GivenBytes(seed)
    reports = RandomizedReports(recipe)
    case: dict[str, Any] = {"name": name, "seed": seed, "value": value}
    if not reports.is_sampled(source):
        return case
    report = reports.of_value(value, source)
    if report is None:
        raise ValueError(f"{name} sends nothing")
    if recipe.trust == Trust.TWO_SERVER:
        return {**case, "upload": uploaded(recipe, report, seed)}
    return {**case, "nonce": _text(report.nonce), "ciphertexts": list(map(_text, report.ciphertexts))}


def noise(scale: float, largest: int) -> dict[str, Any]:
    """Draws of the noise that devices add to a mean."""
    source = GivenBytes(f"noise {scale}")
    drawn = [discrete_gaussian.sample(Fraction(scale), largest, source) for _ in range(20)]
    return {"scale": scale, "largest": largest, "drawn": drawn}


def weights() -> list[dict[str, Any]]:
    """The smallest weight with which categories keep their promise: few and many places, all sizes of ε."""
    found = []
    guarantees = ((0.1, 2), (1e-6, 1_000), (1e-30, 10**9))
    for k, epsilon, (delta, cohort) in itertools.product((6, 1_000), (1e-6, 0.1, 1.0, 20.0), guarantees):
        asked = CategoriesParameters(
            k=k, epsilon=epsilon, delta=delta, cohort_size=cohort, sampling_rate=1.0
        ).calibrated()
        members = {name: value for name, value in asked.as_dict().items() if name != "max_weight"}
        found.append({"parameters": members, "smallest": asked.max_weight})
    return found


def log() -> dict[str, str]:
    """A recipe's place in a public log of seven entries that two of three witnesses have signed."""
    entries = [*other_entries(4), entry_of(recipe_of("count").identifier), *other_entries(2, "later")]
    memory = MemoryLog(entries, index=4)
    signers = [Ed25519PrivateKey.from_private_bytes(bytes([side]) * 32) for side in (1, 2, 3)]
    for name, key in zip("ab", signers, strict=False):
        line = cosign(memory.checkpoint, f"witness.example/{name}", key, time=1_770_000_000).line
        memory.cosignatures[memory.checkpoint] = memory.cosignatures.get(memory.checkpoint, "") + line
    witnesses = {
        name: VerifierKey(f"witness.example/{name}", COSIGNATURE, key.public_key().public_bytes_raw())
        for name, key in zip("abc", signers, strict=True)
    }
    lines = [f"log {LOG.text}", "# three of them", *(f"witness {n} {k.text}" for n, k in witnesses.items())]
    policy = "\n".join([*lines, "group most 2 a b c", "quorum most", ""])
    proof = memory.proof()
    Proof.decode(proof).verify(entries[4], Policy.parse(policy.encode()))
    return {"policy": policy, "proof": proof.decode()}


def capsule() -> dict[str, str]:
    """A request sealed to a gateway, and its answer."""
    config, private_key = keys.generate(7, GivenBytes("gateway"), KemName.X25519)
    encoded = keys.encode_list((config,))
    fields = ((b"content-type", b"application/json"),)
    content = '{"name": "café"}'.encode()
    request = Request(b"POST", b"https", b"site.example", b"/api/v1/recipes/?status=open", fields, content)
    sealed, _ = capsules.seal(config, padding.padded(request.encode()), GivenBytes("capsule"))
    _, context = capsules.open_({7: (config, private_key)}, sealed)
    response = padding.padded_answer(Response(201, fields, b'{"accepted": true}').encode())
    return {
        "keys": _text(encoded),
        "signature": signed_keys.signature(encoded, SIGNING_KEY),
        "capsule": _text(sealed),
        "answer": _text(context.seal(response, GivenBytes("answer"))),
    }


def token() -> dict[str, str]:
    """A token of a recipe, from the request to what a report shows."""
    private_key = rsa_keys.generate(GivenBytes("issuer"))
    challenge = TokenChallenge(
        TOKEN_TYPE,
        issuer_name=b"issuer.example",
        redemption_context=bytes.fromhex(recipe_of("count-two-servers").identifier),
        origin_info=b"leader.example,helper.example",
    )
    pending = issuance.ask(private_key.public, challenge, GivenBytes("token"))
    response = issuance.issue(private_key, pending.request, GivenBytes("issuing"))
    return {
        "key": _text(private_key.public.encoded),
        "request": _text(pending.request.encode()),
        "response": _text(response.encode()),
        "token": _text(pending.finish(response).encode()),
    }


def signatures() -> dict[str, Any]:
    """Keys that are refused, and what is accepted of signatures with parts of low order."""
    made = [case for case in ed25519_cases.cases() if {case.key.low, case.point.low} <= {0, 1}]
    weak = [half for half in ed25519_cases.halves(1) if half.low or not half.secret]
    return {
        "weak_keys": [_text(half.encoded) for half in weak],
        "cases": [
            {
                "key": _text(case.key.encoded),
                "signature": _text(case.signature),
                "message": _text(case.message),
                "holds": case.is_plain,
            }
            for case in made
        ],
    }


def token_exponent() -> str:
    """With which the issuer of all recipes with tokens signs: worth nothing, known to everyone."""
    key = seeded_key()
    return _text(pow(key.e, -1, (key.p - 1) * (key.q - 1)).to_bytes(256, "big"))


def cases(of: str) -> list[dict[str, Any]]:
    """Every case of one side; seeds begin with its name."""
    found = []
    for name, asked in ASKED.items():
        if asked["statistic"] == "categories":
            found += [value_case(name, f"{of} {name} {value}", value) for value in (0, 5)]
        else:
            streams = EVENTS_OF_SEVERAL if "events" in asked else EVENTS
            found += [device_case(name, f"{of} {name} {sum(events)}", events) for events in streams]
    for name, ticks in TICKS.items():
        found.append(device_case(name, f"{of} {name} ticks", EVENTS[0], ticks))
    return found


def contents() -> dict[str, Any]:
    """The file that Python writes."""
    return {
        "recipes": {name: served(recipe_of(name)) for name in ASKED},
        "hpke_keys": [_text(config.public_key) for config in hpke_configs()],
        "request_bytes": {
            name: published_report_bytes(recipe_of(name))
            for name, asked in ASKED.items()
            if asked["statistic"] != "categories"
        },
        "noise": [noise(0.05, 3), noise(1.25, 20), noise(41.003117, 700)],
        "weights": weights(),
        "signatures": signatures(),
        "log": log(),
        "capsule": capsule(),
        "token": token(),
        "token_exponent": token_exponent(),
        "token_answers": {"attester": dict(OF_ATTESTER), "issuer": dict(OF_ISSUER)},
        "local_epsilons": {name: report_epsilon(recipe_of(name).calibrated_statistic) for name in ASKED},
        "views": {name: view(name) for name, asked in ASKED.items() if asked["statistic"] != "categories"},
        "lifetimes": [lifetime(*case) for case in LIFETIMES],
        "cases": cases("python"),
    }


def view(name: str) -> dict[str, Any]:
    """What a state shows after joining, but for its size."""
    recipe, store = recipe_of(name), MemoryStore()
    two, issuer_key = recipe.trust == Trust.TWO_SERVER, ISSUER_KEY.public_key().public_bytes_raw()
    given = served_by_two(recipe)
    Device.join(
        store,
        given if two else replace(given, partner_signature=None),
        verification_key=VERIFICATION_KEY,
        helper_key=HELPER_KEY if two else None,
        issuer_key=issuer_key,
        simulation=True,
        random_source=GivenBytes(name),
    ).close()
    if store.content is None:
        raise ValueError("no state is stored")
    facts = state_view(store.content).as_dict()
    del facts["kept_bytes"]
    return facts


LIFETIMES = [
    (0.0, [], 0.5),
    (2.0, [], 2.0),
    (0.3, [0.1, 0.1], 0.1),
    (0.3, [0.1, 0.1, 0.1], 0.001),
    (1.0, [0.1] * 9, 0.1),
    (1.0, [0.1] * 10, 0.1),
    (5.0, [2.0, 2.5], 0.5),
    (5.0, [2.0, 2.5], 0.501),
    (5.0, [2.0, 2.5], 20.0),
    (1.0, [2.0], 1.0),
]
"""The budget, what was joined, and the ε of a further recipe."""


def lifetime(largest: float, joined: Sequence[float], epsilon: float) -> dict[str, Any]:
    """Whether a further recipe fits into a device's lifetime, and otherwise why not."""
    memory = LifetimeMemory(MemoryStore())
    for number, one in enumerate(joined):
        memory.note(str(number), one, [])
    refused = None
    try:
        LifetimeBudget(memory, largest).require(recipe_of("count", epsilon=epsilon))
    except LimitError as error:
        refused = str(error)
    return {"largest": largest, "joined": joined, "epsilon": epsilon, "refused": refused}


def _text(encoded: bytes) -> str:
    return base64.b64encode(encoded).decode()


def main() -> None:
    """Write the file anew."""
    (FOLDER / "python.json").write_text(json.dumps(contents(), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
