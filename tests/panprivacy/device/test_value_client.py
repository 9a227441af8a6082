"""Devices with values: what they send through a shuffler, and what they refuse."""

import base64
import io
import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from panprivacy.device.__main__ import main
from panprivacy.device.client import Device, RecipeRefusedError
from panprivacy.device.shuffler_upload import ShufflerUpload
from panprivacy.device.transport import (
    BatchFullError,
    Delivery,
    HttpTransport,
    RecipeClosedError,
    ReportRejectedError,
    TransportError,
    WireReport,
)
from panprivacy.device.value_client import UnknownDeliveryError, send_value
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import RecipeLimits
from panprivacy.statistics.shuffle import SHUFFLE_STATISTICS
from tests.panprivacy.device.server import AT_ONCE, VERIFICATION_KEY, listening
from tests.panprivacy.device.shuffler import SHUFFLER_KEY, MemoryShuffler, shuffler_recipe
from tests.statistic_members import small_members

STATISTICS = {
    "hashed": {"hashed": "yes"},
    **{
        name: {"statistic": name, **small_members(statistic, epsilon=2.0, delta=0.01, cohort_size=500, k=4)}
        for name, statistic in SHUFFLE_STATISTICS.items()
    },
}


def send(server: MemoryShuffler, text: str = "1", **options: object) -> Delivery:
    members = {
        "served": server.served,
        "transport": server.transport(),
        "verification_key": VERIFICATION_KEY,
        "partner_key": SHUFFLER_KEY,
        "simulation": True,
    }
    return send_value(text, **(members | options))


@pytest.mark.parametrize("statistic", STATISTICS)
def test_send_value_sends_what_randomize_gives_one_by_one(statistic):
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


def test_send_value_asks_what_joining_asks_and_when_the_recipe_opens():
    with pytest.raises(RecipeRefusedError, match="for real devices"):
        send(MemoryShuffler(simulation=False))
    with pytest.raises(FieldError, match="cohort_size: must be at least 100 for this device, not 3"):
        send(MemoryShuffler(simulation=False), simulation=False)
    closed = MemoryShuffler(simulation=False, closes_at="2999-01-01T00:00:00Z")
    opens_at, closes_at = (datetime(year, 1, 1, tzinfo=UTC) for year in (1999, 2000))
    closed.recipe = replace(closed.recipe, opens_at=opens_at, closes_at=closes_at)
    closed.takes_messages = False
    with pytest.raises(RecipeClosedError, match="closed"):
        send(closed, simulation=False, limits=RecipeLimits(smallest_cohort=3, largest_delta=0.1))


def test_submit_of_unreadable_messages_and_to_another_server_is_refused(monkeypatch):
    server = MemoryShuffler()
    with pytest.raises(ReportRejectedError, match="422"):
        ShufflerUpload(server.recipe, server.transport()).submit(WireReport(bytes(16), (b"?",)))
    monkeypatch.setattr(server, "shuffler", server.site)
    with pytest.raises(TransportError, match="404"):
        ShufflerUpload(server.recipe, server.transport()).submit(WireReport(bytes(16), ()))


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


def test_send_value_whose_answer_got_lost_is_repeated_and_counts_once():
    server = MemoryShuffler()
    with listening(server.shuffler) as address:
        server.recipe = shuffler_recipe(shuffler_url=f"{address}/shuffler")
        server.lost = 2
        with HttpTransport(address, retries=AT_ONCE) as transport:
            delivery = send(server, transport=transport)
    assert (delivery, len(server.users)) == (Delivery.ACCEPTED, 1)


def test_send_value_that_is_never_answered_says_that_it_may_have_arrived():
    server = MemoryShuffler()
    server.lost = 1  # in process, nothing is repeated
    with pytest.raises(UnknownDeliveryError, match="may have arrived"):
        send(server)


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
