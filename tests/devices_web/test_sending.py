"""A browser's device asks, joins and sends by itself, against servers, a relay and a log of this side."""

import itertools
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from devices_sim.transport import JSON
from panprivacy.dap.basics import ReportError
from panprivacy.oblivious_http import capsules
from panprivacy.oblivious_http.padding import class_of
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.request_bytes import published_report_bytes
from panprivacy.trust_models.single_server import OneServer
from tests.devices_sim.public_log import ORIGIN, WITHOUT_WITNESSES, MemoryLog, entry_of, other_entries
from tests.devices_sim.relay import PROBLEM, Gateway, Relay
from tests.devices_sim.server import MemoryServer, listening
from tests.devices_sim.two_servers import HELPER_SIGNING_KEY, MemoryPair
from tests.devices_web import vectors
from tests.peers.conversations import Peer, PeerRefusedError, talking
from tests.peers.node_packages import installed

pytestmark = pytest.mark.long

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

    def ask(self, operation: str) -> dict[str, Any]:
        return self._peer(operation, recipe=self._recipe, site=self.site)

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


def test_a_report_arrives_once_and_a_second_one_is_the_same(
    server: MemoryServer, device: Any, listen: Listen
) -> None:
    browser = device(server.recipe, listen(server))
    browser.joined_and_finished()
    for _ in range(2):  # as after a lost answer
        assert browser.ask("deliver") == {}
    assert len(server.reports) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"takes_reports": False}, "NoAnswerError: the recipe takes no reports now"),
        ({"closed": True}, "UndeliverableError: the recipe is closed"),
        ({"_store": lambda *_: "invalid_ciphertext"}, "UndeliverableError: .*invalid_ciphertext"),
        ({"_answer": lambda *_: (503, {"type": "/problems/unavailable"})}, "NoAnswerError: .* 503"),
    ],
)
def test_what_can_succeed_later_is_told_from_what_cannot(
    server: MemoryServer, device: Any, listen: Listen, change: dict[str, Any], message: str
) -> None:
    browser = device(server.recipe, listen(server))
    browser.joined_and_finished()
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
    pair.publish(leader_url=f"{address}/leader", helper_url=f"{address}/helper", **members)
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


class Relayed:
    """A recipe with a relay, its server and its log behind a gateway; all at one address."""

    def __init__(self, listen: Listen, **asked: object) -> None:
        self.plain: list[str] = []
        address = listen(self)
        draft = RecipeDraft.from_mapping(
            {
                "name": "Relayed",
                "question": "How many?",
                "statistic": "count_nonzero",
                "steps": 2,
                "epsilon": 2.0,
                "delta": 1e-6,
                "cohort_size": 5,
                "relay": True,
                **asked,
            }
        )
        self.recipe = draft.publish(
            OneServer.of(vectors.private_key().public_key),
            vectors.recipe_of("count").opens_at,
            simulation=True,
            relay=f"{address}/relay/site",
        )
        self.server = MemoryServer(self.recipe, vectors.private_key())
        self.log = MemoryLog([entry_of(self.recipe.identifier), *other_entries(3)], 0, self.server)
        self.gateway = Gateway(self.log)
        self.relay = Relay({"/relay/site": self.gateway})
        self.address = address

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        if environ["PATH_INFO"].startswith("/relay/"):
            return self.relay(environ, start_response)
        self.plain.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")
        return self.server(environ, start_response)


@pytest.mark.parametrize("asked", [{}, {"statistic": "histogram", "k": 20}])
def test_with_a_relay_only_the_recipe_is_fetched_in_the_clear_and_all_capsules_are_of_one_length(
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
    assert [request.path.rsplit(b"/", 2)[1] for request in scene.gateway.asked] == [
        b"proof",
        b"proof",
        b"reports",
    ]
    assert set(scene.gateway.lengths) == {class_of(published_report_bytes(scene.recipe))}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ((201, JSON, b'{"status": "accepted"}'), "the relay answers 201"),
        ((409, PROBLEM, b'{"type": "/problems/recipe-not-open"}'), "the relay answers 409"),
        ((422, PROBLEM, b'{"reason": "duplicate_nonce"}'), "the relay answers 422"),
        ((200, capsules.RESPONSE_MEDIA_TYPE, bytes(64)), "is not the server's"),
    ],
)
def test_what_the_relay_says_by_itself_is_no_answer(
    device: Any, listen: Listen, said: tuple[int, str, bytes], message: str
) -> None:
    scene = Relayed(listen)
    browser = device(scene.recipe, scene.address)
    browser.joined_and_finished()
    scene.relay.meddle = lambda _capsule, _ask: said
    with pytest.raises(PeerRefusedError, match=f"NoAnswerError: .*{message}"):
        browser.ask("deliver")


def test_keys_that_the_relay_made_are_refused(device: Any, listen: Listen) -> None:
    scene = Relayed(listen)
    browser = device(scene.recipe, scene.address)
    browser.joined_and_finished()
    scene.gateway.signing_key = Ed25519PrivateKey.generate()
    with pytest.raises(PeerRefusedError, match="keys are not signed by the server"):
        browser.ask("deliver")
    assert scene.relay.capsules == []


def test_two_servers_are_reached_through_the_relay_under_keys_of_their_own(
    device: Any, listen: Listen
) -> None:
    pair = MemoryPair()
    site, helper = Gateway(pair.site), Gateway(pair.helper, HELPER_SIGNING_KEY)
    relay = Relay({"/relay/site": site, "/relay/site/helper": helper})

    def either(environ: dict[str, Any], start_response: Any) -> Any:
        answers = relay if environ["PATH_INFO"].startswith("/relay") else pair.site
        return answers(environ, start_response)

    address = listen(either)
    pair.publish(relay=f"{address}/relay/site")
    browser = device(pair.recipe, address)
    browser.joined_and_finished()
    assert browser.ask("deliver") == {}
    assert len(pair.reports) == 1
    assert [request.path for request in helper.asked] == [b"/helper/hpke_config"]
    assert set(site.lengths) == set(helper.lengths) == {class_of(published_report_bytes(pair.recipe))}


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
    browser = device(server.recipe, listen(log), WITHOUT_WITNESSES)
    browser.ask("join")
    log.show([own, *other_entries(20)])
    with monkeypatch.context() as patched:
        patched.setattr(log, "_tile", lambda _: None)
        with pytest.raises(PeerRefusedError, match="GoneError"):
            browser.ask("join")
    assert browser.ask("join") == {"phase": "collecting"}


def test_without_a_proof_no_device_joins(server: MemoryServer, device: Any, listen: Listen) -> None:
    with pytest.raises(PeerRefusedError, match="NoAnswerError: the site has no proof"):
        device(server.recipe, listen(server), WITHOUT_WITNESSES).ask("join")
