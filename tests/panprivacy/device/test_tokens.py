"""A device's token, from joining to its report: any server may fail, and the device may die anywhere."""

import json
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.algorithm import DeviceError, Phase, WrongStepError
from panprivacy.device.client import (
    Device,
    IssuanceRefusedError,
    NoTokenError,
    RecipeRefusedError,
    TokenNotDueError,
)
from panprivacy.device.state_file import DoneState, LiveState, decode
from panprivacy.device.token_answers import OF_ATTESTER, OF_ISSUER, TokenRemedy
from panprivacy.device.tokens import (
    TokenLostError,
    TokenState,
    WrongAnswerError,
    token_drawn,
)
from panprivacy.device.transport import (
    Delivery,
    RecipeClosedError,
    RecipeNotOpenError,
    ReportRejectedError,
    TransportError,
)
from panprivacy.device.value_client import send_value
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.dap.basics import ReportError
from panprivacy.protocols.oblivious_http import signed_keys
from panprivacy.protocols.privacy_pass import issuance
from panprivacy.protocols.privacy_pass.tokens import TOKEN_TYPE, TokenChallenge
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from tests.panprivacy.device.attester import SOURCE, URL, MemoryAttester, problem
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.relay import RELAY_URL, MemoryGateway, Relay
from tests.panprivacy.device.server import AT_ONCE, VERIFICATION_KEY, MemoryServer
from tests.panprivacy.device.shuffler import SHUFFLER_KEY, SHUFFLER_SIGNING_KEY, MemoryShuffler
from tests.panprivacy.device.two_servers import (
    HELPER_KEY,
    HELPER_SIGNING_KEY,
    HELPER_URL,
    LEADER_URL,
    MemoryPair,
)
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.tokens import ISSUER_KEY

IDENTITY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
CHALLENGE = TokenChallenge(TOKEN_TYPE, b"issuer.example", bytes(32), b"")
ISSUER = ISSUER_KEY.public_key().public_bytes_raw()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def server(make_server: Any) -> MemoryServer:
    return make_server(tokens=True, epsilon=20, sampling_rate=1)


@pytest.fixture
def attester(server: MemoryServer) -> MemoryAttester:
    return MemoryAttester({server.recipe.identifier: seeded_key()})


def join(path: Path, server: MemoryServer, **options: Any) -> Device:
    chosen = {"simulation": True, "issuer_key": ISSUER} | options
    return Device.join(path, server.served, verification_key=VERIFICATION_KEY, **chosen)


def to(attester: MemoryAttester) -> InProcessTransport:
    transport = InProcessTransport(attester, others={URL: attester})
    transport.retries = AT_ONCE
    return transport


def kept(path: Path) -> TokenState:
    content = decode(path.read_bytes())
    assert isinstance(content, LiveState)
    assert content.token is not None
    return content.token


def test_device_reports_under_the_tokens_nonce_or_not_at_all(path, server, attester):
    with join(path, server) as device:
        device.catch_up(3)
        device.step(True)
        with pytest.raises(NoTokenError, match="get it first"):
            device.send(server.transport())
        assert server.reports == {}
    with Device.open(path) as device:
        device.obtain_token(to(attester), IDENTITY)
        device.obtain_token(to(attester), IDENTITY)  # asks once
        nonce = kept(path).report_nonce
    with Device.open(path) as device:
        assert device.send(server.transport()) is Delivery.ACCEPTED
    assert list(server.reports) == [nonce]
    assert server.decrypted() == [(1,)]
    assert len(attester.capsules) == 1
    assert set(attester.issued) == {server.recipe.identifier}


def test_recipe_with_tokens_without_the_pinned_issuer_is_refused(path, server):
    for key in (None, VERIFICATION_KEY):
        with pytest.raises(RecipeVerificationError, match="issuer"):
            join(path, server, issuer_key=key)
    assert not path.exists()


def test_token_is_asked_for_at_a_random_time_before_the_first_report(path, make_server):
    real = make_server(tokens=True, simulation=False, step_seconds=86_400)
    joined = datetime(2026, 1, 2, tzinfo=UTC)
    first = real.recipe.opens_at + timedelta(days=4)
    source = random.Random(1)
    times = [token_drawn(real.recipe, source, now=joined).asks_at for _ in range(400)]
    assert joined <= min(times)
    assert max(times) < first
    # Evenly: of 400, fewer than 130 or more than 270 in a half come with a probability below 1e-11.
    assert 130 < sum(time < joined + (first - joined) / 2 for time in times) < 270
    late = first + timedelta(days=1)
    assert token_drawn(real.recipe, source, now=late).asks_at == late


def test_device_whose_time_has_not_come_does_not_ask(path, make_server):
    server = make_server(tokens=True, simulation=False, cohort_size=100, step_seconds=86_400)
    attester = MemoryAttester({server.recipe.identifier: seeded_key()})
    with join(path, server, simulation=False, now=datetime(2026, 1, 1, tzinfo=UTC)) as device:
        asks_at = device.asks_at
        assert asks_at is not None
        with pytest.raises(TokenNotDueError, match=str(asks_at.year)):
            device.obtain_token(to(attester), IDENTITY, now=asks_at - timedelta(seconds=1))
        assert attester.capsules == []


def test_device_that_is_not_sampled_asks_as_others_do_and_keeps_as_much(path, make_server, tmp_path):
    sizes = {}
    for rate in (1, 1e-6):
        server = make_server(tokens=True, sampling_rate=rate)
        attester = MemoryAttester({server.recipe.identifier: seeded_key()})
        file = tmp_path / str(rate)
        with join(file, server) as device:
            before = vars(kept(file))
            device.obtain_token(to(attester), IDENTITY)
            sizes[device.phase] = [
                {name: len(value) for name, value in members.items() if isinstance(value, bytes)}
                for members in (before, vars(kept(file)))
            ] + [len(capsule) for capsule in attester.capsules]
            device.catch_up(4)
            device.send(server.transport())
    assert set(sizes) == {Phase.COLLECTING, Phase.NOT_SAMPLED}
    assert sizes[Phase.COLLECTING] == sizes[Phase.NOT_SAMPLED]


def test_unsampled_device_without_a_token_is_refused_as_a_sampled_one(path, make_server):
    with join(path, make_server(tokens=True, sampling_rate=1e-6, steps=1)) as device:
        device.step(False)
        with pytest.raises(NoTokenError):
            device.send(InProcessTransport(lambda *_: []))


def test_device_that_died_after_asking_sends_the_same_bytes(path, server, attester):
    attester.meddle = lambda _: (503, "text/plain", b"")
    with join(path, server) as device, pytest.raises(TransportError):
        device.obtain_token(to(attester), IDENTITY)
    attester.meddle = lambda reply: reply
    before = kept(path)
    with Device.open(path) as device:
        device.obtain_token(to(attester), IDENTITY)
    assert len(set(attester.capsules)) == 1
    assert len(set(attester.blinded)) == 1
    assert kept(path).report_nonce == before.report_nonce
    # Power fails between the answer and the file: the state of before asks again, and gets the same.
    token = kept(path).token
    content = path.read_bytes()
    with Device.open(path) as device:
        device._token = before
        device.obtain_token(to(attester), IDENTITY)
    assert kept(path).token == token
    assert path.read_bytes() == content


def test_issuer_with_a_new_key_is_asked_once_more_and_issues_one_token(path, server, attester):
    attester.meddle = lambda _: (503, "text/plain", b"")
    with join(path, server) as device, pytest.raises(TransportError):
        device.obtain_token(to(attester), IDENTITY)
    attester.issued.clear()
    attester.answers.clear()
    attester.meddle = lambda reply: reply
    attester.rotate()
    with Device.open(path) as device:
        device.obtain_token(to(attester), IDENTITY)
    assert len(set(attester.blinded)) == 1
    assert len(set(attester.capsules)) == 2


@pytest.mark.parametrize(
    "signed",
    [
        lambda key, request: bytes(256),
        lambda key, request: b"x",
        lambda key, request: issuance.issue(
            seeded_key(), issuance.ask(seeded_key().public, CHALLENGE, SOURCE).request, SOURCE
        ).encode(),
    ],
    ids=["zeros", "short", "of-another-request"],
)
def test_issuer_that_answers_nonsense_gives_no_token(path, server, attester, signed):
    attester.sign = signed
    with join(path, server) as device:
        with pytest.raises(TokenLostError, match="gives no token"):
            device.obtain_token(to(attester), IDENTITY)
    with pytest.raises(IssuanceRefusedError, match="gives no token"):
        Device.open(path)


def test_attester_that_answers_with_anothers_answer_is_noticed(tmp_path, server, attester):
    with join(tmp_path / "one", server) as device:
        device.obtain_token(to(attester), IDENTITY)
    [others] = attester.answers.values()
    attester.meddle = lambda _: others
    with join(tmp_path / "two", server) as device, pytest.raises(WrongAnswerError, match="not the issuer's"):
        device.obtain_token(to(attester), Ed25519PrivateKey.from_private_bytes(bytes(32)))


def test_issuers_keys_that_the_attester_made_are_not_sealed_to(path, server, attester, monkeypatch):
    monkeypatch.setattr(signed_keys, "signature", lambda *_: "A" * 86 + "==")
    with join(path, server) as device, pytest.raises(WrongAnswerError, match="no token was asked for"):
        device.obtain_token(to(attester), IDENTITY)
    assert attester.capsules == []


def require_remembered(path: Path, device: Device, attester: MemoryAttester, why: str) -> None:
    """The device never asks again, opened anew or not, and its file has the reason and nothing else."""
    asked = len(attester.capsules)
    with pytest.raises(DeviceError):
        device.obtain_token(to(attester), IDENTITY)
    device.close()
    with pytest.raises(IssuanceRefusedError, match=re.escape(why)):
        Device.open(path)
    assert json.loads(path.read_bytes().split(b"\n")[2]).keys() == {
        "phase",
        "recipe",
        "name",
        "epsilon",
        "refused",
    }
    assert len(attester.capsules) == asked


def test_refusal_in_words_that_cannot_be_written_is_kept_shortened(path, server, attester):
    attester.meddle = lambda _: problem(409, "/problems/already-issued", "\ud800" + 400 * "ü")
    with join(path, server) as device, pytest.raises(TokenLostError):
        device.obtain_token(to(attester), IDENTITY)
    with pytest.raises(IssuanceRefusedError, match=r"\?ü+$"):
        Device.open(path)
    assert len(path.read_bytes()) < 600


@pytest.mark.parametrize("kind", [*OF_ATTESTER, *OF_ISSUER, "/problems/unavailable"])
def test_answer_of_the_attester_is_final_or_another_attempt_succeeds(path, server, attester, kind):
    """What only the issuer may answer, in its capsule, is believed from no other server."""
    remedy = OF_ATTESTER.get(kind, TokenRemedy.LATER)
    attester.meddle = lambda _: problem(409, kind)
    with join(path, server) as device:
        drawn = device._token
        with pytest.raises(TransportError) as caught:
            device.obtain_token(to(attester), IDENTITY)
        assert isinstance(caught.value, TokenLostError) is (remedy is TokenRemedy.FINAL)
        if remedy is TokenRemedy.FINAL:
            require_remembered(path, device, attester, str(caught.value))
            return
        sent, anew = attester.capsules.copy(), kept(path)
        assert len(set(sent)) == (2 if remedy is TokenRemedy.SEAL else 1)
        assert (anew.factor != drawn.factor) is (anew.capsule == b"") is (remedy is TokenRemedy.BLIND)
        assert (anew.nonce, anew.salt) == (drawn.nonce, drawn.salt)
        if remedy in (TokenRemedy.BLIND, TokenRemedy.SEAL):
            attester.issued.clear()  # an attester that answers so has handed out nothing
        attester.meddle = lambda reply: reply
        device.obtain_token(to(attester), IDENTITY)
    assert (attester.capsules[-1] not in sent) is (remedy is TokenRemedy.BLIND)
    assert len(set(attester.blinded)) == (2 if remedy is TokenRemedy.BLIND else 1)
    assert kept(path).token


@pytest.mark.parametrize("kind", [*OF_ISSUER, *OF_ATTESTER, "/problems/unrecognized-recipe"])
def test_answer_of_the_issuer_is_final_or_another_attempt_seals_anew(path, server, attester, kind):
    final = {
        "/problems/recipe-not-open": RecipeClosedError,
        "/problems/malformed-token-request": TokenLostError,
    }
    attester.refuses = lambda: problem(409, kind)
    with join(path, server) as device:
        with pytest.raises(TransportError) as caught:
            device.obtain_token(to(attester), IDENTITY)
        assert type(caught.value) is final.get(kind, TransportError)
        if kind in final:
            require_remembered(path, device, attester, str(caught.value))
            return
        assert kept(path).capsule == b""
        attester.refuses = lambda: None
        device.obtain_token(to(attester), IDENTITY)
    assert len(set(attester.capsules)) == 2
    assert len(attester.blinded) == 1


def test_report_with_a_token_through_a_relay_leaves_the_direct_port_alone(path, make_server):
    server = make_server(tokens=True, relay=RELAY_URL, steps=1)
    attester = MemoryAttester({server.recipe.identifier: seeded_key()})
    gateway = MemoryGateway(server)

    def direct(environ: Any, start_response: Any) -> list[bytes]:
        raise AssertionError("a request in the clear")

    relay = Relay({"/relay/site": gateway})
    transport = InProcessTransport(direct, others={RELAY_URL: relay, URL: attester})
    transport.retries = AT_ONCE
    with join(path, server) as device:
        device.step(True)
        device.obtain_token(transport, IDENTITY)
        server.takes_reports = False
        with pytest.raises(TransportError):
            device.send(transport)  # not even whether the recipe is open yet is asked in the clear
        server.takes_reports = True
        assert device.send(transport) is Delivery.ACCEPTED
    assert len(server.reports) == 1
    assert [request.method for request in gateway.asked] == [b"POST", b"GET", b"POST"]


def test_device_with_a_value_repeats_its_messages_until_they_are_taken(path):
    server = MemoryShuffler(tokens=True, relay=RELAY_URL)
    attester = MemoryAttester({server.recipe.identifier: seeded_key()})
    gateway = MemoryGateway(server.shuffler, SHUFFLER_SIGNING_KEY)
    relay = Relay({"/relay/site": MemoryGateway(server.site), "/relay/site/shuffler": gateway})
    others = {RELAY_URL: relay, f"{RELAY_URL}/shuffler": relay, URL: attester}
    transport = InProcessTransport(lambda *_: pytest.fail("a request in the clear"), others=others)
    transport.retries = AT_ONCE.new(total=0)
    with join(path, server, helper_key=SHUFFLER_KEY) as device:
        with pytest.raises(NoTokenError):
            device.send(transport, value="1")
        with pytest.raises(WrongStepError, match="no steps"):
            device.step(True)
        device.obtain_token(transport, IDENTITY)
        with pytest.raises(FieldError, match="value"):
            device.send(transport)
        server.lost = 1
        with pytest.raises(TransportError):
            device.send(transport, value="1")
    with Device.open(path) as device:
        assert device.send(transport) is Delivery.ACCEPTED
    assert [asked.content for asked in gateway.asked] == 2 * [gateway.asked[0].content]
    assert len(server.users) == 1
    assert set(gateway.lengths) <= {4096, 32768}


CATEGORIES = {
    "statistic": "categories",
    "steps": None,
    "k": 4,
    "epsilon": 20,
    "delta": 1e-6,
}


def pair_with_tokens(**members: Any) -> tuple[MemoryPair, MemoryAttester]:
    pair = MemoryPair(tokens=True, **(CATEGORIES | members))
    return pair, MemoryAttester({pair.recipe.identifier: seeded_key()})


def to_both(pair: MemoryPair, attester: MemoryAttester) -> InProcessTransport:
    others = {LEADER_URL: pair.leader, HELPER_URL: pair.helper, URL: attester}
    transport = InProcessTransport(pair.site, others=others)
    transport.retries = AT_ONCE
    return transport


def test_randomized_value_is_made_once_and_repeated_until_it_is_taken(path):
    pair, attester = pair_with_tokens()
    transport = to_both(pair, attester)
    with join(path, pair, helper_key=HELPER_KEY) as device:
        device.obtain_token(transport, IDENTITY)
        token = kept(path)
        with pytest.raises(FieldError, match="value: must be a whole number from 0 to 3"):
            device.send(transport, value="4")
        pair.config_answer = ("text/plain", b"no keys today")
        with pytest.raises(TransportError):
            device.send(transport, value="2")
        assert device.phase is Phase.COLLECTING  # no coin was tossed for a report that could not be sealed
        pair.config_answer = None
        pair.errors = [ReportError.REPORT_DROPPED]
        with pytest.raises(TransportError):
            device.send(transport, value="2")
    content = decode(path.read_bytes())
    assert isinstance(content, LiveState)
    [sealed] = content.state.ciphertexts
    with Device.open(path) as device:
        assert device.send(transport) is Delivery.ACCEPTED
    [(nonce, report)] = pair.reports.items()
    assert (nonce, report.encode()) == (token.report_nonce, bytes(sealed))
    # A flip of any of four places by ε = 20: below 1e-8.
    assert list(pair.counts()) == [0, 0, 1, 0]


def test_report_kept_longer_than_the_leaders_keys_is_given_up(path):
    pair, attester = pair_with_tokens()
    transport = to_both(pair, attester)
    with join(path, pair, helper_key=HELPER_KEY) as device:
        device.obtain_token(transport, IDENTITY)
        pair.errors = [ReportError.REPORT_DROPPED]
        with pytest.raises(TransportError):
            device.send(transport, value="2")
        pair.rotate()
        with pytest.raises(ReportRejectedError, match="kept for too long"):
            device.send(transport)
    assert pair.reports == {}


def test_randomizing_device_not_sampled_takes_a_token_and_sends_nothing(path):
    pair, attester = pair_with_tokens(sampling_rate=1e-6)
    transport = to_both(pair, attester)
    with join(path, pair, helper_key=HELPER_KEY) as device:
        assert device.phase is Phase.NOT_SAMPLED
        device.obtain_token(transport, IDENTITY)
        assert device.send(transport) is None
        assert device.phase is Phase.DONE
    assert pair.fetches == 0


def rare_through_a_relay():
    """Two servers whose devices may send nothing, and the transport to them."""
    rare = {"participation": "relayed", "devices": 10, "counted_devices": 10, "rare_share": 0.5}
    pair, attester = pair_with_tokens(statistic="rare_categories", relay=RELAY_URL, **rare)
    helper = MemoryGateway(pair.helper, HELPER_SIGNING_KEY)
    relay = Relay({"/relay/site": MemoryGateway(pair.site), "/relay/site/helper": helper})
    others = {RELAY_URL: relay, f"{RELAY_URL}/helper": relay, URL: attester}
    transport = InProcessTransport(lambda *_: pytest.fail("a request in the clear"), others=others)
    transport.retries = AT_ONCE.new(total=0)
    return pair, transport


def test_rare_value_through_a_relay_leaves_the_direct_ports_alone(path):
    pair, transport = rare_through_a_relay()
    with join(path, pair, helper_key=HELPER_KEY) as device:
        device.obtain_token(transport, IDENTITY)
        delivery = device.send(transport, value="3")
        assert device.phase is Phase.DONE
    assert (delivery is Delivery.ACCEPTED) == bool(pair.reports)


@pytest.mark.parametrize("accepts", [True, False])
def test_rare_state_shows_whether_it_sends_only_while_a_server_refuses(tmp_path, accepts):
    """The exception that `state_file` names, and no more than it: a report that is kept until it is taken."""
    pair, transport = rare_through_a_relay()
    ends = {}
    for number in range(60):
        path = tmp_path / str(number)
        with join(path, pair, helper_key=HELPER_KEY) as device:
            device.obtain_token(transport, Ed25519PrivateKey.generate())
            pair.errors = [] if accepts else [ReportError.REPORT_DROPPED]
            try:
                sends = device.send(transport, value="0") is not None
            except RecipeNotOpenError:
                sends = True
        state = decode(path.read_bytes())
        ends.setdefault(sends, set()).add(state.state.phase if isinstance(state, LiveState) else state)
    # Half of them send: all or none with a probability of 2 in 2 ** 60.
    [unsent] = ends[False]
    assert isinstance(unsent, DoneState)
    assert ends[True] == {unsent if accepts else Phase.REPORTED}


def test_value_of_a_recipe_with_tokens_is_joined_for_and_of_another_is_not(path, make_server):
    with pytest.raises(RecipeRefusedError, match="send-value"):
        join(path, make_server(**CATEGORIES))
    assert not path.exists()
    server = make_server(tokens=True, **CATEGORIES)
    keys = {"verification_key": VERIFICATION_KEY, "partner_key": None}
    with pytest.raises(RecipeRefusedError, match="join, token, send"):
        send_value("1", server.served, server.transport(), simulation=True, **keys)


def test_randomized_value_to_one_server_is_kept_encrypted(path, make_server):
    server = make_server(tokens=True, **CATEGORIES)
    attester = MemoryAttester({server.recipe.identifier: seeded_key()})
    with join(path, server) as device:
        device.obtain_token(to(attester), IDENTITY)
        server.takes_reports = False
        with pytest.raises(TransportError):
            device.send(server.transport(), value="2")
    server.takes_reports = True
    with Device.open(path) as device:
        assert device.send(server.transport()) is Delivery.ACCEPTED
    assert server.decrypted() == [(0, 0, 1, 0)]
