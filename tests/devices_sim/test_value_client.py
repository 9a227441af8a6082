"""Devices with values: what they send through a shuffler, and what they refuse."""

import base64
import io
import random
from dataclasses import replace
from datetime import datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from devices_sim.__main__ import main
from devices_sim.client import Device, RecipeRefusedError
from devices_sim.shuffler_upload import ShufflerUpload
from devices_sim.transport import (
    BatchFullError,
    Delivery,
    HttpTransport,
    RecipeClosedError,
    RecipeNotOpenError,
    ReportRejectedError,
    TransportError,
    WireReport,
)
from devices_sim.value_client import UnknownDeliveryError, send_value
from panprivacy.errors import FieldError
from panprivacy.limits import RecipeLimits
from panprivacy.shuffle import SHUFFLE_STATISTICS
from panprivacy.trust_models.members import RecipeVerificationError
from tests.devices_sim.server import AT_ONCE, VERIFICATION_KEY, listening
from tests.devices_sim.shuffler import SHUFFLER_KEY, MemoryShuffler, shuffler_recipe
from tests.statistic_members import small_members

STATISTICS = {
    "hashed": {"hashed": "yes"},
    **{
        name: {"statistic": name, **small_members(statistic, epsilon=2.0, delta=0.01, cohort_size=500, k=4)}
        for name, statistic in SHUFFLE_STATISTICS.items()
    },
}


def send(server: MemoryShuffler, text: str = "1", **options: object) -> Delivery:
    members = {"verification_key": VERIFICATION_KEY, "partner_key": SHUFFLER_KEY, "simulation": True}
    return send_value(text, server.served, server.transport(), **(members | options))


@pytest.mark.parametrize("statistic", STATISTICS)
def test_send_value_of_every_statistic_sends_what_randomize_gives_encrypted_one_by_one(statistic):
    server = MemoryShuffler(**STATISTICS[statistic])
    assert send(server, "3", random_source=random.Random(5)) is Delivery.ACCEPTED
    mechanism = server.recipe.calibrated_statistic
    expected = [0] * mechanism.contribution_length
    for message in mechanism.randomize(mechanism.value_of("3"), random.Random(5)):
        expected[message] += 1
    assert server.total() == expected
    ((nonce, messages),) = server.users.items()
    assert len(nonce) == 16
    assert len(set(messages)) == len(messages)


def test_send_value_twice_sends_other_messages_under_another_nonce():
    server = MemoryShuffler()
    send(server)
    send(server)
    (first, one), (second, other) = server.users.items()
    assert first != second
    assert set(one).isdisjoint(other)


@pytest.mark.parametrize("text", ["4", "-1", "", "1.0", "x", "٣"])
def test_send_value_outside_the_range_names_it_and_sends_nothing(text):
    server = MemoryShuffler()
    with pytest.raises(FieldError, match="value: must be a whole number from 0 to 3"):
        send(server, text)
    assert server.users == {}


def test_send_value_without_the_shufflers_pinned_key_is_refused():
    server = MemoryShuffler()
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    for key, message in ((None, "needs the shuffler's key"), (other, "names another shuffler")):
        with pytest.raises(RecipeVerificationError, match=message):
            send(server, partner_key=key)
    assert server.users == {}


def test_send_value_of_a_recipe_that_the_shuffler_did_not_sign_is_refused():
    server = MemoryShuffler()
    for signature in (None, bytes(64)):
        served = replace(server.served, partner_signature=signature)
        with pytest.raises(RecipeVerificationError, match="signature"):
            send_value(
                "1",
                served,
                server.transport(),
                verification_key=VERIFICATION_KEY,
                partner_key=SHUFFLER_KEY,
                simulation=True,
            )
    assert server.users == {}


def test_send_value_real_device_and_simulation_keep_apart():
    with pytest.raises(RecipeRefusedError, match="for simulated devices"):
        send(MemoryShuffler(), simulation=False)
    with pytest.raises(RecipeRefusedError, match="for real devices"):
        send(MemoryShuffler(simulation=False))
    with pytest.raises(FieldError, match="cohort_size: must be at least 100 for this device, not 3"):
        send(MemoryShuffler(simulation=False), simulation=False)
    closed = MemoryShuffler()
    closed.status = "closed"
    with pytest.raises(RecipeRefusedError, match="closed"):
        send(closed)


def test_send_value_to_a_recipe_of_steps_is_refused(server):
    with pytest.raises(FieldError, match="trust: is single_server"):
        send_value(
            "1", server.served, server.transport(), verification_key=VERIFICATION_KEY, partner_key=None
        )


def test_join_of_a_recipe_of_values_is_refused_and_leaves_no_file(tmp_path):
    with pytest.raises(RecipeRefusedError, match="no steps"):
        Device.join(
            tmp_path / "state",
            MemoryShuffler().served,
            verification_key=VERIFICATION_KEY,
            helper_key=SHUFFLER_KEY,
            simulation=True,
        )
    assert not (tmp_path / "state").exists()


def test_send_value_after_the_last_user_is_told_that_the_batch_is_full():
    server = MemoryShuffler(cohort_size=2)
    send(server)
    send(server)
    with pytest.raises(BatchFullError, match="409"):
        send(server)
    assert len(server.users) == 2


@pytest.mark.parametrize(
    ("window", "kind", "message"),
    [
        (
            {"opens_at": "1999-01-01T00:00:00Z", "closes_at": "2000-01-01T00:00:00Z"},
            RecipeClosedError,
            "closed",
        ),
        (
            {"opens_at": "2998-01-01T00:00:00Z", "closes_at": "2999-01-01T00:00:00Z"},
            RecipeNotOpenError,
            "opens 2998-01-01T00:00:00Z",
        ),
    ],
)
def test_send_value_outside_of_the_recipes_time_is_told_on_which_side(window, kind, message):
    server = MemoryShuffler(simulation=False, closes_at="2999-01-01T00:00:00Z")
    times = {name: datetime.fromisoformat(text) for name, text in window.items()}
    server.recipe = replace(server.recipe, **times)
    server.takes_messages = False
    with pytest.raises(kind, match=message):
        send(server, simulation=False, limits=RecipeLimits(smallest_cohort=3, largest_delta=0.1))


def test_send_value_whose_answer_got_lost_is_repeated_and_counts_once():
    server = MemoryShuffler()
    with listening(server.shuffler) as address:
        server.recipe = shuffler_recipe(shuffler_url=f"{address}/shuffler")
        server.lost = 2
        with HttpTransport(address, retries=AT_ONCE) as transport:
            delivery = send_value(
                "1",
                server.served,
                transport,
                verification_key=VERIFICATION_KEY,
                partner_key=SHUFFLER_KEY,
                simulation=True,
            )
    assert (delivery, len(server.users)) == (Delivery.ACCEPTED, 1)


def test_send_value_that_is_never_answered_says_that_it_may_have_arrived():
    server = MemoryShuffler()
    server.lost = 1  # in process, nothing is repeated
    with pytest.raises(UnknownDeliveryError, match="may have arrived"):
        send(server)


def test_submit_of_messages_that_the_shuffler_cannot_read_is_rejected_for_good():
    server = MemoryShuffler()
    upload = ShufflerUpload(server.recipe, server.transport())
    with pytest.raises(ReportRejectedError, match="422"):
        upload.submit(WireReport(bytes(16), (b"?",)))


def test_submit_to_a_shuffler_that_refuses_otherwise_says_so(monkeypatch):
    server = MemoryShuffler()
    monkeypatch.setattr(server, "shuffler", server.site)
    upload = ShufflerUpload(server.recipe, server.transport())
    with pytest.raises(TransportError, match="404"):
        upload.submit(WireReport(bytes(16), ()))


def arguments(url: str, server: MemoryShuffler) -> list[str]:
    pinned = (base64.b64encode(key).decode() for key in (VERIFICATION_KEY, SHUFFLER_KEY))
    keys = zip(("--verification-key", "--shuffler-key"), pinned, strict=True)
    options = [*(text for pair in keys for text in pair), "--smallest-cohort", "2", "--largest-delta", "0.1"]
    return ["send-value", url, server.recipe.identifier, *options]


def test_main_send_value_delivers_it_and_a_full_batch_is_exit_code_3(capsys, monkeypatch):
    server = MemoryShuffler()
    with listening(server.site) as site, listening(server.shuffler) as shuffler:
        server.recipe = shuffler_recipe(
            simulation=False,
            shuffler_url=f"{shuffler}/shuffler",
            cohort_size=2,
            closes_at="2999-01-01T00:00:00Z",
        )
        command = arguments(site, server)
        assert main([*command, "--value", "2"]) == 0
        asked, *_, identifier, delivered = capsys.readouterr().out.splitlines()
        assert asked == f"question: {server.recipe.question}"
        assert identifier == f"identifier: {server.recipe.identifier}"
        assert delivered == "value delivered to the shuffler"
        monkeypatch.setattr("sys.stdin", io.StringIO("3\n"))
        assert main(command) == 0
        assert main([*command, "--value", "1"]) == 3
        assert "batch full" in capsys.readouterr().err
        assert main([*command, "--value", "9"]) == 2
        assert capsys.readouterr().err == 'error: value: must be a whole number from 0 to 3, not "9"\n'
    assert len(server.users) == 2
