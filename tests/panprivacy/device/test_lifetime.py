"""A device's budget of all recipes that it ever joins: counted ahead of joining, and never given back."""

import base64
import contextlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from panprivacy.device.__main__ import main
from panprivacy.device.algorithm import Phase
from panprivacy.device.client import AlreadyJoinedError, Device
from panprivacy.device.lifetime import LifetimeBudget, LifetimeMemory, LifetimeMemoryError
from panprivacy.device.rounds_memory import RoundsMemory
from panprivacy.device.storage import MemoryStore, StateFileBusyError, StateFileError
from panprivacy.device.transport import ServedRecipe
from panprivacy.device.value_client import send_value
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import LimitError, RecipeLimits
from tests.panprivacy.device.server import VERIFICATION_KEY, MemoryServer, listening
from tests.panprivacy.device.shuffler import MemoryShuffler
from tests.panprivacy.device.test_rounds_check import KEY as SITE_KEY
from tests.panprivacy.device.test_rounds_check import Scene
from tests.panprivacy.device.test_value_client import send

KEY = base64.b64encode(VERIFICATION_KEY).decode()


class PowerLostError(OSError):
    """What the process does not live to see."""


class Power:
    """Of stores that write until it fails, once: at a write, which is then done or not."""

    def __init__(self, writes: int, *, last_is_done: bool) -> None:
        self.writes, self.last_is_done = writes, last_is_done

    def store(self, content: bytes | None = None) -> "PoweredStore":
        return PoweredStore(self, content)


class PoweredStore(MemoryStore):
    def __init__(self, power: Power, content: bytes | None) -> None:
        super().__init__(content)
        self.power = power

    def write(self, content: bytes) -> None:
        self.power.writes -= 1
        fails = self.power.writes == 0
        if not fails or self.power.last_is_done:
            super().write(content)
        if fails:
            raise PowerLostError


def lost() -> None:
    raise PowerLostError


class TakesPart(random.Random):
    """A device whose coins all let it take part."""

    def random(self) -> float:
        return 0.0


class KeptOut(random.Random):
    """A device whose coins all keep it out."""

    def random(self) -> float:
        return 1 - 2**-53


def of_site(scene: Scene, number: int) -> dict[str, Any]:
    """What a device of a round is given."""
    recipe = scene.round(number)
    served = ServedRecipe(recipe.identifier, recipe.document, recipe.sign(SITE_KEY), "open")
    key = SITE_KEY.public_key().public_bytes_raw()
    limits = RecipeLimits(smallest_cohort=2, largest_delta=1.0)
    return {"served": served, "verification_key": key, "limits": limits, "random_source": TakesPart(number)}


class Lifetime:
    """A device's files, and what it may spend."""

    def __init__(self, folder: Path, largest: float) -> None:
        self.folder, self.largest = folder, largest
        self.path = folder / "lifetime"

    def join(self, server: MemoryServer, name: str = "state", *, store: Any = None, **options: Any) -> Device:
        with LifetimeMemory(self.path) as memory:
            return Device.join(
                store or self.folder / name,
                server.served,
                verification_key=VERIFICATION_KEY,
                simulation=True,
                lifetime=LifetimeBudget(memory, self.largest),
                **options,
            )

    @property
    def used(self) -> float:
        with LifetimeMemory(self.path) as memory:
            return memory.used


@pytest.fixture
def lifetime(tmp_path):
    return Lifetime(tmp_path, 5.0)


def test_join_beyond_the_lifetime_names_what_is_used_and_left(lifetime, make_server):
    lifetime.join(make_server()).close()
    lifetime.join(make_server(name="B", epsilon=2.5), "b").close()
    before = lifetime.path.read_bytes()
    for epsilon in (0.6, 20.0):
        with pytest.raises(LimitError) as caught:
            lifetime.join(make_server(name="C", epsilon=epsilon), "c")
        assert str(caught.value) == (
            f"epsilon: is {epsilon:g} for one report, more than is left of this device's lifetime: "
            "4.5 of 5 used, 0.5 left"
        )
    assert not (lifetime.folder / "c").exists()
    assert lifetime.path.read_bytes() == before
    lifetime.join(make_server(name="D", epsilon=0.5), "d").close()
    assert lifetime.used == 5.0


def test_lifetime_counts_the_local_epsilon_and_fits_decimal_sums(tmp_path, make_server):
    lifetime = Lifetime(tmp_path, 0.3)
    for name in "abc":
        lifetime.join(make_server(name=name, epsilon=0.1), name).close()
    with pytest.raises(LimitError, match=r"0\.3 of 0\.3 used, 0 left"):
        lifetime.join(make_server(epsilon=1e-6))
    # Twice ε: a report about another number of events differs in two bits.
    histogram = Lifetime(tmp_path, 2.0)
    histogram.path = tmp_path / "other"
    histogram.join(make_server(statistic="histogram", k=2, epsilon=1.0), "h").close()
    assert histogram.used == 2.0


@pytest.mark.parametrize("largest", [-1.0, float("nan"), float("inf"), 1e7])
def test_lifetime_that_is_no_budget_is_refused_with_its_range(tmp_path, largest):
    with LifetimeMemory(tmp_path / "lifetime") as memory, pytest.raises(FieldError) as caught:
        LifetimeBudget(memory, largest)
    assert "lifetime_epsilon: must be a number from 0 to 1,000,000, not" in str(caught.value)


def test_lifetime_of_zero_joins_nothing(tmp_path, make_server):
    with pytest.raises(LimitError, match="0 of 0 used, 0 left"):
        Lifetime(tmp_path, 0).join(make_server(epsilon=1e-6))
    assert not (tmp_path / "state").exists()


def test_recipe_without_a_local_epsilon_is_refused_under_a_lifetime(tmp_path):
    lifetime, server = Lifetime(tmp_path, 1e6), MemoryShuffler()
    with LifetimeMemory(lifetime.path) as memory:
        with pytest.raises(LimitError, match=r"has no number for one report alone.*: 0 of 1e6 used"):
            send(server, lifetime=LifetimeBudget(memory, 1e6))
        assert memory.used == 0
    assert server.users == {}


def test_recipe_left_sent_or_deleted_stays_counted(lifetime, make_server):
    servers = [make_server(name=name, epsilon=1.0) for name in "abc"]
    for server, name in zip(servers, "abc", strict=True):
        with lifetime.join(server, name) as device:
            if name == "a":
                device.leave()
            elif name == "b":
                device.catch_up(4)
                device.send(server.transport())
        (lifetime.folder / name).unlink()
    assert lifetime.used == 3.0
    for server, name in zip(servers, "abc", strict=True):
        with pytest.raises(AlreadyJoinedError, match="lifetime budget"):
            lifetime.join(server, f"{name} again")
    assert lifetime.used == 3.0


@pytest.mark.parametrize("last_is_done", [False, True])
@pytest.mark.parametrize("writes", [1, 2, 3, 4])
def test_device_that_loses_power_counts_each_report_that_it_sends(make_server, writes, last_is_done):
    """It joins, loses power, sends from the state that it may have, loses that, and joins and sends again."""
    server, power = make_server(epsilon=1.0), Power(writes, last_is_done=last_is_done)
    lifetime, sent = power.store(), 0
    for _ in range(3):
        store = power.store()
        with contextlib.suppress(PowerLostError, AlreadyJoinedError), LifetimeMemory(lifetime) as memory:
            Device.join(
                store,
                server.served,
                verification_key=VERIFICATION_KEY,
                simulation=True,
                lifetime=LifetimeBudget(memory, 9.0),
            ).close()
        power.writes = -1
        if store.content is not None:
            with Device.open(store) as device:
                device.catch_up(4)
                device.send(server.transport())
            sent += 1
    assert sent == len(server.reports) >= 1
    with LifetimeMemory(lifetime) as memory:
        assert sent <= memory.used <= 2.0
        assert LifetimeBudget(memory, 9.0).has_joined(server.recipe)


def test_device_that_cannot_count_does_not_join(lifetime, server, monkeypatch):
    monkeypatch.setattr(LifetimeMemory, "note", lambda *_, **__: (_ for _ in ()).throw(OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        lifetime.join(server)
    assert [path.name for path in lifetime.folder.iterdir()] == []


def test_join_that_fails_before_its_state_counts_nothing(lifetime, server, make_server):
    lifetime.join(server).close()
    with pytest.raises(AlreadyJoinedError, match="exists"):
        lifetime.join(make_server(name="other"))
    assert lifetime.used == 2.0


def test_lifetime_file_does_not_show_the_coin(tmp_path, make_server):
    contents = set()
    server = make_server(sampling_rate=0.5)
    for number in range(40):
        folder = tmp_path / str(number)
        folder.mkdir()
        own = Lifetime(folder, 5.0)
        own.join(server).close()
        contents.add(own.path.read_bytes())
    assert len(contents) == 1


def test_rounds_cost_one_epsilon_each_and_those_given_once_cost_one(tmp_path):
    for changes, expected in (({}, 3.0), ({"donation_rounds": 5}, 1.0)):
        scene = Scene(**changes)
        once = scene.rounds.once
        with LifetimeMemory(tmp_path / str(once)) as memory:
            budget = LifetimeBudget(memory, 3.0, once=once)
            for number in (1, 2, 3):
                recipe = scene.round(number)
                budget.count(recipe)
                budget.record_joined(recipe, gives=False)
                assert budget.has_joined(recipe)
            assert memory.used == expected
            if not once:
                with pytest.raises(LimitError, match="3 of 3 used"):
                    budget.require(scene.round(4))


@pytest.mark.parametrize("last_is_done", [False, True])
@pytest.mark.parametrize("writes", range(-1, 12))
def test_rounds_that_give_are_counted_without_the_memory_of_rounds(tmp_path, writes, last_is_done):
    """Each round with an empty memory of rounds, and power that fails once, at any write."""
    scene, power, gave = Scene(donation_rounds=5), Power(writes, last_is_done=last_is_done), 0
    lifetime = power.store()
    for number in range(1, 6):
        store, given = power.store(), of_site(scene, number)
        with RoundsMemory(MemoryStore()) as rounds, LifetimeMemory(lifetime) as memory:
            turn = scene.check(scene.round(number), rounds)
            given |= {"lifetime": LifetimeBudget(memory, 9.0, once=True), "sampled": turn.record_donation}
            with contextlib.suppress(PowerLostError):
                Device.join(store, **given).close()
        if store.content is not None:
            with Device.open(store) as device:
                gave += device.phase is Phase.COLLECTING
    assert gave >= 4
    with LifetimeMemory(lifetime) as memory:
        assert gave <= memory.used <= 5.0


def test_round_after_one_that_gave_costs_again_even_at_the_limit(tmp_path):
    """As counting it is without any note of the coin: with an empty memory of rounds each time."""
    scene = Scene(donation_rounds=5)
    with LifetimeMemory(tmp_path / "lifetime") as memory:
        budget = LifetimeBudget(memory, 1.0, once=True)
        for number, gives in ((1, False), (2, False), (3, True)):
            budget.count(scene.round(number))
            budget.record_joined(scene.round(number), gives=gives)
        assert memory.used == 1.0
        with pytest.raises(LimitError, match="1 of 1 used, 0 left"):
            budget.count(scene.round(4))


def test_device_outside_the_coin_pays_for_its_next_round_already(tmp_path):
    """The whole path: joined until the coin lets the device give, at the cost of one ε."""
    scene, lifetime, number, gave = Scene(donation_rounds=5), MemoryStore(), 0, False
    while not gave and number < 5:
        number += 1
        store, given = MemoryStore(), of_site(scene, number)
        given["random_source"] = KeptOut(number) if number < 4 else TakesPart(number)
        with LifetimeMemory(lifetime) as memory:
            given["lifetime"] = LifetimeBudget(memory, 1.0, once=True)
            with Device.join(store, **given) as device:
                gave = device.phase is Phase.COLLECTING
            assert memory.used == 1.0
    assert (number, gave) == (4, True)


def test_value_of_a_round_that_gives_once_is_noted_ahead_of_sending(tmp_path):
    scene = Scene(statistic="categories", k=4, steps=None, step_seconds=None, delta=1e-5, donation_rounds=5)
    with LifetimeMemory(tmp_path / "lifetime") as memory:
        kept_out = of_site(scene, 1) | {"random_source": KeptOut(1)}
        for number, given in enumerate((kept_out, of_site(scene, 2), of_site(scene, 3))):
            budget = LifetimeBudget(memory, 9.0, once=True)
            given |= {"transport": scene.site, "partner_key": None, "sampled": lost}
            if number == 0:
                assert send_value("1", lifetime=budget, **given) is None
                assert (memory.used, memory.is_unspent(scene.rounds.identifier)) == (2.0, True)
                continue
            with pytest.raises(PowerLostError):
                send_value("1", lifetime=budget, **given)
            assert memory.used == 2.0 * number
            assert not memory.is_unspent(scene.rounds.identifier)


CATEGORIES = {"statistic": "categories", "steps": None, "k": 4, "epsilon": 1.0}


def test_every_value_that_may_have_been_sent_is_counted(tmp_path, make_server):
    server = make_server(**CATEGORIES)
    cost = 2.0
    with LifetimeMemory(tmp_path / "lifetime") as memory:
        budget = LifetimeBudget(memory, 5.0)
        send(server, partner_key=None, lifetime=budget)
        server.takes_reports = False
        with pytest.raises(Exception, match="takes no reports"):
            send(server, partner_key=None, lifetime=budget)
        assert memory.used == 2 * cost
        with pytest.raises(LimitError, match="4 of 5 used, 1 left"):
            send(server, partner_key=None, lifetime=budget)
    assert len(server.reports) == 1


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"format":"panapp-device-rounds-1","recipes":{}}',
        *(
            f'{{"format":"panapp-device-lifetime-1","recipes":{notes}}}'
            for notes in (
                "[]",
                '{"a":{"epsilon":NaN,"joined":[]}}',
                '{"a":{"epsilon":-1,"joined":[]}}',
                '{"a":{"epsilon":1e308,"joined":[]}}',
                '{"a":{"epsilon":true,"joined":[]}}',
                '{"a":{"epsilon":1}}',
                '{"a":{"epsilon":1,"joined":"b"}}',
                '{"a":{"epsilon":1,"joined":[],"unspent":false}}',
            )
        ),
        *(
            f'{{"format":"panapp-device-lifetime-1","recipes":{notes}}}\n'
            for notes in (
                '{"\\ud800":{"epsilon":1,"joined":[]}}',
                '{"a":{"epsilon":1,"joined":["\\ud800"]}}',
                '{"a":{"epsilon":1,"joined":[],"x":1e999}}',
                '{"a":{"epsilon":4,"joined":[]},"a":{"epsilon":1,"joined":[]}}',
                '{"a":{"epsilon":4,"joined":[]}},"recipes":{}',
                '{"a":{"epsilon":4,"joined":[]}},"x":1',
                f'{{"a":{{"epsilon":{"9" * 5000},"joined":[]}}}}',
            )
        ),
    ],
)
def test_memory_that_holds_something_else_is_refused_and_kept(tmp_path, content):
    path = tmp_path / "lifetime"
    path.write_text(content)
    with pytest.raises(LifetimeMemoryError, match="is not a device's memory of recipes joined"):
        LifetimeMemory(path)
    assert path.read_text() == content


def test_memory_that_was_written_is_read_again_to_the_last_digit(tmp_path):
    epsilons = [0.1, 1 / 3, 1e-6, 1e6, 2.0]
    for number, epsilon in enumerate(epsilons):
        with LifetimeMemory(tmp_path / "lifetime") as memory:
            memory.note(f"é{number}", epsilon, ["b", "a"], unspent=bool(number % 2))
    with LifetimeMemory(tmp_path / "lifetime") as memory:
        assert [memory.epsilon_of(f"é{number}") for number in range(5)] == epsilons
        assert [memory.is_unspent(f"é{number}") for number in range(5)] == [False, True] * 2 + [False]


@pytest.mark.parametrize("name", ["lifetime.new", "lifetime.lock", "lifetime.LOCK", "state.new"])
def test_state_with_a_name_of_another_files_helper_is_refused(lifetime, server, name):
    with pytest.raises(StateFileError, match=r"names that end in \.new or \.lock belong to other files"):
        lifetime.join(server, name)
    assert lifetime.used == 0


def test_main_join_refuses_the_lifetimes_own_file_as_the_state(make_server, tmp_path, capsys):
    server = make_server()
    with listening(server) as url:
        arguments = ["join", url, server.recipe.identifier, "--verification-key", KEY, "--simulation"]
        for name, message in (("lifetime", "must be another file"), ("lifetime.new", "cannot be used")):
            files = ["--state", str(tmp_path / name), "--lifetime-epsilon", "9"]
            assert main([*arguments, *files]) == 2
            assert message in capsys.readouterr().err
    assert not any(path.suffix != ".lock" for path in tmp_path.iterdir())


def test_two_joins_at_once_do_not_share_what_is_left(lifetime, server):
    with LifetimeMemory(lifetime.path), pytest.raises(StateFileBusyError):
        lifetime.join(server)


def test_main_join_under_a_lifetime_refuses_and_names_its_option(make_server, tmp_path, capsys):
    first, second = (make_server(simulation=False, name=name) for name in ("first", "second"))
    budget = ["--lifetime-epsilon", "3", "--lifetime-state", str(tmp_path / "lifetime")]

    def join(server: MemoryServer, name: str, *options: str) -> int:
        with listening(server) as url:
            arguments = ["join", url, server.recipe.identifier, "--state", str(tmp_path / name)]
            asked = ["--verification-key", KEY, "--smallest-cohort", "2"]
            try:
                return main([*arguments, *asked, *options])
            except SystemExit as leaving:
                return int(str(leaving.code))

    assert join(first, "a", *budget) == 0
    capsys.readouterr()
    assert join(second, "b", *budget) == 2
    output = capsys.readouterr()
    assert output.err == (
        "error: epsilon: is 2 for one report, more than is left of this device's lifetime: 2 of 3 used, "
        "1 left; --lifetime-epsilon sets another limit\n"
    )
    assert "question" not in output.out
    # The file is beside the states, unless another one is named.
    assert join(second, "b", *budget[:2]) == 2
    assert "2 of 3 used" in capsys.readouterr().err
    assert join(second, "b", *budget[2:]) == 2
    assert "--lifetime-state needs --lifetime-epsilon" in capsys.readouterr().err
    for wrong in ("nan", "inf", "-1", "1e7", "all"):
        assert join(second, "b", f"--lifetime-epsilon={wrong}", *budget[2:]) == 2
        assert "--lifetime-epsilon: must be " in capsys.readouterr().err
    assert json.loads((tmp_path / "lifetime").read_bytes())["recipes"] == {
        first.recipe.identifier: {"epsilon": 2.0, "joined": [first.recipe.identifier]}
    }
