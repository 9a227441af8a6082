"""A browser's device asks, joins and sends by itself, against servers, a relay and a log of this side."""

import base64
import hashlib
import itertools
import random
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.state_file import FORMAT, LiveState, decode
from panprivacy.device.token_answers import OF_ATTESTER, OF_ISSUER, TokenRemedy
from panprivacy.device.tokens import TokenClient, TokenState
from panprivacy.device.transport import JSON, HttpTransport
from panprivacy.protocols.dap.basics import ReportError
from panprivacy.protocols.dap.token_extension import token_of
from panprivacy.protocols.oblivious_http import capsules, signed_keys
from panprivacy.protocols.oblivious_http.padding import class_of
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.request_bytes import published_report_bytes
from panprivacy.recipe.token import token_require
from panprivacy.statistics.trust_models.single_server import OneServer
from tests.devices_web import vectors
from tests.panprivacy.device.attester import MemoryAttester, problem
from tests.panprivacy.device.public_log import ORIGIN, WITHOUT_WITNESSES, MemoryLog, entry_of, other_entries
from tests.panprivacy.device.relay import PROBLEM, MemoryGateway, Relay
from tests.panprivacy.device.server import MemoryServer, listening
from tests.panprivacy.device.two_servers import HELPER_SIGNING_KEY, MemoryPair
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.peers.conversations import Peer, PeerRefusedError, talking
from tests.peers.node_packages import installed
from tests.tokens import token_admission

pytestmark = pytest.mark.long

IDENTITY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
"""Of the device in Node (`sending.ts`)."""

Listen = Callable[[Any], str]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client, whose program of this test is built."""
    copy = installed(vectors.FOLDER.parent, tmp_path_factory.mktemp("web") / "devices_web")
    subprocess.run(["node", "build.mjs"], cwd=copy, check=True, timeout=300)
    return copy


@pytest.fixture
def listen() -> Iterator[Listen]:
    """A function that serves an application and gives its address."""
    with ExitStack() as stack:
        yield lambda application: stack.enter_context(listening(application))


class Browser:
    """A device in a process of Node, and the site that it knows."""

    def __init__(self, peer: Peer, served: dict[str, Any], server: str, policy: str | None) -> None:
        self._peer = peer
        self._recipe = served["served"]["id"]
        self.site = {"server": server, "keys": served["keys"], "policy": policy, "simulation": True}

    def ask(self, operation: str, **more: Any) -> dict[str, Any]:
        return self._peer(operation, recipe=self._recipe, site=self.site, **more)

    def joined_and_finished(self) -> None:
        assert self.ask("join") == {"phase": "collecting"}
        assert self.ask("finish") == {"phase": "reported"}


@pytest.fixture
def device(built: Path) -> Iterator[Callable[..., Browser]]:
    with talking(["node", "build/tests/sending.mjs"], built) as peer:

        def of(recipe: Any, server: str, policy: str | None = None) -> Browser:
            return Browser(peer, vectors.served(recipe), server, policy)

        yield of


@pytest.fixture
def server() -> MemoryServer:
    return MemoryServer(vectors.recipe_of("count"), vectors.private_key())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"takes_reports": False}, "NoAnswerError: the recipe takes no reports now"),
        ({"closed": True}, "UndeliverableError: the recipe is closed"),
        ({"_store": lambda *_: "invalid_ciphertext"}, "UndeliverableError: .*invalid_ciphertext"),
        ({"_answer": lambda *_: (503, {"type": "/problems/unavailable"})}, "NoAnswerError: .* 503"),
    ],
)
def test_a_report_arrives_once_or_is_refused_for_now_or_for_good(
    server: MemoryServer, device: Any, listen: Listen, change: dict[str, Any], message: str
) -> None:
    browser = device(server.recipe, listen(server))
    browser.joined_and_finished()
    for _ in range(2):  # as after a lost answer
        assert browser.ask("deliver") == {}
    assert len(server.reports) == 1
    for name, value in change.items():
        setattr(server, name, value)
    with pytest.raises(PeerRefusedError, match=message):
        browser.ask("deliver")


def test_an_address_where_nothing_answers_and_one_that_is_none(server: MemoryServer, device: Any) -> None:
    with pytest.raises(PeerRefusedError, match=r"NoAnswerError: no answer from http://127\.0\.0\.1:1/"):
        device(server.recipe, "http://127.0.0.1:1").ask("join")
    with pytest.raises(PeerRefusedError, match="FieldError: server: must be an http or https address"):
        device(server.recipe, "telemetry.example").ask("join")


def pair_at(listen: Listen, **members: object) -> tuple[MemoryPair, str]:
    """Two servers and the leader's site behind one address, which their recipe names."""
    pair = MemoryPair()

    def both(environ: dict[str, Any], start_response: Any) -> Any:
        answers = pair.helper if environ["PATH_INFO"].startswith("/helper") else pair.site
        return answers(environ, start_response)

    address = listen(both)
    pair.publish(
        leader_url=f"{address}/leader", helper_url=f"{address}/helper", **{**vectors.BROWSERS, **members}
    )
    return pair, address


def test_two_servers_get_a_sealed_share_each(device: Any, listen: Listen) -> None:
    pair, address = pair_at(listen)
    browser = device(pair.recipe, address)
    browser.joined_and_finished()
    pair.errors = [ReportError.OUTDATED_CONFIG, ReportError.REPORT_TOO_EARLY]
    for message in ("NoAnswerError: the leader does not know", "NoAnswerError: the recipe takes no reports"):
        with pytest.raises(PeerRefusedError, match=message):
            browser.ask("deliver")
    for _ in range(2):
        assert browser.ask("deliver") == {}
    assert len(pair.reports) == 1
    pair.errors, pair.reports = [ReportError.INVALID_MESSAGE], {}
    with pytest.raises(PeerRefusedError, match="UndeliverableError: the leader refuses the report: error 8"):
        browser.ask("deliver")


def recipe_with(**asked: object) -> RecipeDraft:
    members = {"name": "Asked", "question": "How many?", "statistic": "count_nonzero", "steps": 2}
    return RecipeDraft.from_mapping({**members, "epsilon": 2.0, "delta": 1e-6, "cohort_size": 5, **asked})


SERVERS = OneServer.of(vectors.private_key().public_key)
OPENS_AT = vectors.recipe_of("count").opens_at


class Relayed:
    """A recipe with a relay, its server and its log behind a gateway; all at one address."""

    def __init__(self, listen: Listen, **asked: object) -> None:
        self.plain: list[str] = []
        self.address = listen(self)
        relay = f"{self.address}/relay/site"
        draft = recipe_with(relay=True, **vectors.BROWSERS, **asked)
        self.recipe = draft.publish(SERVERS, OPENS_AT, simulation=True, relay=relay)
        self.server = MemoryServer(self.recipe, vectors.private_key())
        self.log = MemoryLog([entry_of(self.recipe.identifier), *other_entries(3)], 0, self.server)
        self.gateway = MemoryGateway(self.log)
        self.relay = Relay({"/relay/site": self.gateway})

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        if environ["PATH_INFO"].startswith("/relay/"):
            return self.relay(environ, start_response)
        self.plain.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")
        return self.server(environ, start_response)


@pytest.mark.parametrize("asked", [{}, {"statistic": "histogram", "k": 20}])
def test_relay_hides_all_but_the_recipe_in_capsules_of_one_length(
    device: Any, listen: Listen, asked: dict[str, object]
) -> None:
    scene = Relayed(listen, **asked)
    browser = device(scene.recipe, scene.address, WITHOUT_WITNESSES)
    browser.joined_and_finished()
    scene.gateway.rotate()
    assert browser.ask("deliver") == {}
    assert scene.plain == [f"GET /api/v1/recipes/{scene.recipe.identifier}/"]
    assert len(scene.server.reports) == 1
    # A proof before joining; another one before the report.
    paths = [request.path.rsplit(b"/", 2)[1] for request in scene.gateway.asked]
    assert paths == [b"proof", b"proof", b"reports"]
    assert set(scene.gateway.lengths) == {class_of(published_report_bytes(scene.recipe))}


def test_what_the_relay_says_by_itself_is_no_answer(device: Any, listen: Listen) -> None:
    scene = Relayed(listen)
    browser = device(scene.recipe, scene.address)
    browser.joined_and_finished()
    for said, message in (
        ((201, JSON, b'{"status": "accepted"}'), "the relay answers 201"),
        ((409, PROBLEM, b'{"type": "/problems/recipe-not-open"}'), "the relay answers 409"),
        ((422, PROBLEM, b'{"reason": "duplicate_nonce"}'), "the relay answers 422"),
        ((200, capsules.RESPONSE_MEDIA_TYPE, bytes(64)), "is not the server's"),
    ):
        scene.relay.meddle = lambda _capsule, _ask, said=said: said
        with pytest.raises(PeerRefusedError, match=f"NoAnswerError: .*{message}"):
            browser.ask("deliver")
    # Keys that the relay made are refused, too.
    scene.gateway.signing_key = Ed25519PrivateKey.generate()
    scene.relay.capsules.clear()
    with pytest.raises(PeerRefusedError, match="keys are not signed by the server"):
        browser.ask("deliver")
    assert scene.relay.capsules == []


def test_two_servers_are_reached_through_the_relay_under_keys_of_their_own(
    device: Any, listen: Listen
) -> None:
    pair = MemoryPair()
    site, helper = MemoryGateway(pair.site), MemoryGateway(pair.helper, HELPER_SIGNING_KEY)
    relay = Relay({"/relay/site": site, "/relay/site/helper": helper})

    def either(environ: dict[str, Any], start_response: Any) -> Any:
        answers = relay if environ["PATH_INFO"].startswith("/relay") else pair.site
        return answers(environ, start_response)

    address = listen(either)
    pair.publish(relay=f"{address}/relay/site", **vectors.BROWSERS)
    browser = device(pair.recipe, address)
    browser.joined_and_finished()
    assert browser.ask("deliver") == {}
    assert len(pair.reports) == 1
    assert [request.path for request in helper.asked] == [b"/helper/hpke_config"]
    assert set(site.lengths) == set(helper.lengths) == {class_of(published_report_bytes(pair.recipe))}


def test_recipe_sealed_with_x_wing_is_refused_with_the_reason(device: Any, listen: Listen) -> None:
    pair, address = pair_at(listen, hpke="x-wing")
    with pytest.raises(PeerRefusedError, match=r"RecipeRefusedError: the recipe asks for X-Wing"):
        device(pair.recipe, address).ask("join")
    assert pair.fetches == 0


def test_a_log_that_grows_is_followed_over_every_border_of_tiles(
    server: MemoryServer, device: Any, listen: Listen
) -> None:
    entries = [entry_of(server.recipe.identifier), *other_entries(800)]
    log = MemoryLog(entries[:1], 0, server)
    browser = device(server.recipe, listen(log), WITHOUT_WITNESSES)
    for old, new in itertools.pairwise((1, 2, 255, 256, 257, 512, 801)):
        for size in (old, new):
            log.show(entries[:size])
            browser.ask("join")
            assert f"\n{size}\n" in browser.ask("remembered")[ORIGIN]["newest"]
    log.asked.clear()
    browser.ask("join")
    assert not log.asked, "of the same state no tile need be read"
    log.show(entries, size=4)
    browser.ask("join")
    assert "\n801\n" in browser.ask("remembered")[ORIGIN]["newest"]


@pytest.mark.parametrize(("old", "new"), [(3, 3), (3, 9), (255, 256), (256, 700), (300, 801), (801, 4)])
def test_another_log_is_refused_for_good_and_both_checkpoints_are_kept(
    server: MemoryServer, device: Any, listen: Listen, old: int, new: int
) -> None:
    own = entry_of(server.recipe.identifier)
    log = MemoryLog([own, *other_entries(old - 1)], 0, server)
    browser = device(server.recipe, listen(log), WITHOUT_WITNESSES)
    browser.ask("join")
    first = log.checkpoint
    log.show([own, *other_entries(new - 1, "other" if new >= old else "")])
    second = log.checkpoint
    with pytest.raises(PeerRefusedError, match=r"LogError: .* contradicts what it showed"):
        browser.ask("join")
    remembered = browser.ask("remembered")[ORIGIN]
    assert first.text in remembered["newest"]
    assert second.text in remembered["against"]
    log.show([own, *other_entries(old)])
    with pytest.raises(PeerRefusedError, match=r"LogError: .* contradicts what it showed"):
        browser.ask("join")


def test_a_larger_log_without_its_hashes_is_asked_again(
    server: MemoryServer, device: Any, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = entry_of(server.recipe.identifier)
    log = MemoryLog([own, *other_entries(9)], 0, server)
    with pytest.raises(PeerRefusedError, match="NoAnswerError: the site has no proof"):
        device(server.recipe, listen(server), WITHOUT_WITNESSES).ask("join")
    browser = device(server.recipe, listen(log), WITHOUT_WITNESSES)
    browser.ask("join")
    log.show([own, *other_entries(20)])
    with monkeypatch.context() as patched:
        patched.setattr(log, "_tile", lambda _: None)
        with pytest.raises(PeerRefusedError, match="GoneError"):
            browser.ask("join")
    assert browser.ask("join") == {"phase": "collecting"}


class WithTokens:
    """A server and an attester, whose recipe takes reports with a token only."""

    def __init__(self, device: Any, listen: Listen, **asked: object) -> None:
        self.attester = MemoryAttester({})
        self.attester.url = listen(self.attester)
        admission = token_admission(attester_url=self.attester.url)
        draft = recipe_with(admission="token", **vectors.BROWSERS, **asked)
        self.recipe = draft.publish(SERVERS, OPENS_AT, simulation=True, admission=admission)
        self.attester.token_keys[self.recipe.identifier] = seeded_key()
        self.server = MemoryServer(self.recipe, vectors.private_key())
        self.browser: Browser = device(self.recipe, listen(self.server))
        assert self.browser.ask("join") == {"phase": "collecting"}

    def stored(self) -> list[Any]:
        """What was stored in asking for the token, as a device of this side reads it."""
        return [state_read(state).token for state in self.browser.ask("stored")["states"]]


def state_read(state: dict[str, Any]) -> LiveState:
    body = rfc8785.dumps(state)
    live = decode(FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body + b"\n")
    assert isinstance(live, LiveState)
    return live


def test_token_is_asked_for_once_and_the_server_takes_the_report_with_it(device: Any, listen: Listen) -> None:
    scene = WithTokens(device, listen)
    browser, attester = scene.browser, scene.attester
    with pytest.raises(PeerRefusedError, match=r"DeviceError: .* with a token only"):
        browser.ask("finish")
    for _ in range(2):
        assert browser.ask("token") == {"asked": True}
    assert (len(attester.capsules), len(attester.blinded)) == (1, 1)
    assert attester.issued == {scene.recipe.identifier: {IDENTITY.public_key().public_bytes_raw()}}
    assert browser.ask("finish") == {"phase": "reported"}
    token = state_read(browser.ask("state")).token
    assert token is not None
    assert browser.ask("deliver") == {}
    assert list(scene.server.reports) == [token.report_nonce]


def test_capsule_is_stored_before_it_is_sent_and_sent_again(device: Any, listen: Listen) -> None:
    """By a browser that begins anew, or by a device of this side with the browser's state."""
    scene = WithTokens(device, listen)
    browser, attester = scene.browser, scene.attester
    attester.meddle = lambda _: (503, PROBLEM, b"{}")
    with pytest.raises(PeerRefusedError, match="NoAnswerError: the attester answers 503"):
        browser.ask("token")
    [before] = scene.stored()
    live = state_read(browser.ask("state"))
    assert live.token is not None
    attester.meddle = lambda said: said
    browser.ask("resume", state=browser.ask("state"))
    browser.ask("token")
    [after] = scene.stored()
    assert attester.capsules == [before.capsule] * 2
    assert (after.capsule, after.secret, after.factor) == (b"", b"", 0)
    token_require(scene.recipe, after.token, before.report_nonce)
    stored: list[TokenState] = []
    with HttpTransport(attester.url) as transport, TokenClient(live.recipe, transport) as client:
        done = client.obtained(
            live.token, IDENTITY, stored.append, random_source=random.Random(1), created=int(time.time())
        )
    assert stored == [done]
    token_require(scene.recipe, done.token, live.token.report_nonce)
    assert len(attester.blinded) == 1


def test_issuer_with_a_new_key_is_asked_once_more_and_issues_one_token(
    device: Any, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = WithTokens(device, listen)
    with monkeypatch.context() as patched, pytest.raises(PeerRefusedError):
        patched.setattr(scene.attester, "_reply", lambda *_: (503, PROBLEM, b"{}"))
        scene.browser.ask("token")
    [kept] = scene.stored()
    scene.attester.rotate()
    assert scene.browser.ask("token") == {"asked": True}
    assert len(scene.attester.blinded) == 1
    sealed, came = scene.stored()
    assert sealed.capsule not in (b"", kept.capsule)
    token_require(scene.recipe, came.token, kept.report_nonce)


def test_unknown_device_is_told_by_its_key_and_enrols_with_a_code(device: Any, listen: Listen) -> None:
    scene = WithTokens(device, listen)
    scene.attester.known = set()
    key = base64.b64encode(IDENTITY.public_key().public_bytes_raw()).decode()
    with pytest.raises(PeerRefusedError, match=f"NotAttestedError: .* whose key is {re.escape(key)}"):
        scene.browser.ask("token")
    scene.browser.site["code"] = "AAAAA-BBBBB"
    assert scene.browser.ask("token") == {"asked": True}
    assert list(scene.attester.codes) == ["AAAAA-BBBBB"]
    assert len(set(scene.attester.capsules)) == 1


def test_answer_is_final_or_another_attempt_brings_the_token(device: Any, listen: Listen) -> None:
    """The table itself is in the vectors; what only the issuer may say is believed of nobody else."""
    sides = {"attester": OF_ATTESTER, "issuer": OF_ISSUER}
    for side, kind in itertools.product(sides, [*OF_ATTESTER, *OF_ISSUER, "/problems/unavailable"]):
        scene = WithTokens(device, listen, name=f"{side} {kind}")
        attester, remedy = scene.attester, sides[side].get(kind, TokenRemedy.LATER)
        refused = problem(409, kind, "Not now")
        if side == "issuer":
            attester.refuses = lambda refused=refused: refused
        else:
            attester.meddle = lambda _, refused=refused: refused
        error = "UndeliverableError" if remedy is TokenRemedy.FINAL else "NoAnswerError"
        with pytest.raises(PeerRefusedError, match=f"{error}: the {side} answers 409: Not now"):
            scene.browser.ask("token")
        sent, first, anew = set(attester.capsules), scene.stored()[0], scene.stored()[-1]
        assert len(sent) == (2 if remedy is TokenRemedy.SEAL else 1)
        assert (anew.factor != first.factor) is (remedy is TokenRemedy.BLIND)
        assert (anew.capsule == b"") is (side == "issuer" or remedy is TokenRemedy.BLIND)
        attester.refuses = lambda: None
        attester.meddle = lambda said: said
        if remedy in (TokenRemedy.BLIND, TokenRemedy.SEAL):
            attester.issued.clear()  # an attester that says so has handed out nothing
        assert scene.browser.ask("token") == {"asked": True}
        token_require(scene.recipe, scene.stored()[-1].token, first.report_nonce)


def test_answer_that_gives_no_token_is_noticed_and_not_kept(device: Any, listen: Listen) -> None:
    for number, signed in enumerate((bytes(256), bytes([255] * 256), b"no")):
        scene = WithTokens(device, listen, name=f"Wrong {number}")
        scene.attester.sign = lambda *_, signed=signed: signed
        with pytest.raises(PeerRefusedError, match="UndeliverableError: the issuer's answer gives no token"):
            scene.browser.ask("token")
        token = state_read(scene.browser.ask("state")).token
        assert token is not None
        assert token.token == b""


def test_keys_that_the_attester_made_are_not_sealed_to(
    device: Any, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = WithTokens(device, listen)
    forged = signed_keys.signature(b"others", Ed25519PrivateKey.generate())
    monkeypatch.setattr("tests.panprivacy.device.attester.signed_keys.signature", lambda *_: forged)
    with pytest.raises(PeerRefusedError, match=r"NoAnswerError: .* not signed by the server"):
        scene.browser.ask("token")
    assert scene.attester.capsules == []


def test_two_servers_take_a_report_whose_token_a_browser_asked_for(device: Any, listen: Listen) -> None:
    attester = MemoryAttester({})
    attester.url = listen(attester)
    pair, address = pair_at(listen, tokens=True, attester_url=attester.url)
    attester.token_keys[pair.recipe.identifier] = seeded_key()
    browser = device(pair.recipe, address)
    browser.ask("join")
    browser.ask("token")
    assert browser.ask("finish") == {"phase": "reported"}
    assert browser.ask("deliver") == {}
    [(nonce, report)] = pair.reports.items()
    token_require(pair.recipe, token_of(report.report_metadata), nonce)
    assert pair.counts()[0] in (0, 1)  # both shares open: the token is part of what they are bound to
