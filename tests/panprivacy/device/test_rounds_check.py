"""A device takes part in a round only if it is as the document of all rounds states, each number once."""

import dataclasses
import json
import random
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.rounds_check import AlreadyContributedError, round_require
from panprivacy.device.rounds_memory import RoundsMemory, RoundsMemoryError
from panprivacy.device.transport import Answer, Transport, TransportError
from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import RecipeLimits
from panprivacy.recipe.parts.round import RoundPlace
from panprivacy.recipe.rounds.document import PublishedRounds, RoundRefusedError
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.rounds.public_input import RoundInput
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from panprivacy.statistics.trust_models.single_server import OneServer
from tests.factories import recipe_members
from tests.refusals import field_refused

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(2, 34)))
VERIFICATION_KEY = KEY.public_key().public_bytes_raw()
RECIPE_KEY = generate_private_key(DEFAULT_SCHEME, random.Random(1)).public_key
NOW = datetime(2026, 3, 1, tzinfo=UTC)
MEMBERS = {
    **recipe_members(steps=1, step_seconds=1, epsilon=1.0, cohort_size=20),
    "round_seconds": 60,
}


class Site(Transport):
    """Serves signed documents, whatever they are asked by."""

    def __init__(self, *documents):
        self.served = {document.identifier: document for document in documents}
        self.key = KEY

    def at(self, base_url):
        return self

    def exchange(self, method, target, **_):
        found = self.served.get(target.rstrip("/").rpartition("/")[2])
        if found is None:
            return Answer(404, {}, b"")
        signature = base64_text.encode(found.sign(self.key))
        body = {"id": found.identifier, "document": found.document, "signature": signature}
        return Answer(200, {}, json.dumps(body).encode())


class Scene:
    def __init__(self, **changes):
        number = {} if "donation_rounds" in changes else {"rounds": 5, "sampling_rate": 0.2}
        self.draft = RoundsDraft.from_mapping({**MEMBERS, **number, **changes})
        self.rounds = PublishedRounds.of(self.draft, series="0" * 16)
        self.servers = OneServer.of(RECIPE_KEY)
        self.site = Site(self.rounds)

    def round(self, number, *, of=None, draft=None, input_=None):
        place = RoundPlace(of=of or self.rounds.identifier, number=number, input=input_)
        return (draft or self.draft).round(place, NOW).publish(self.servers, NOW)

    def check(self, recipe, memory=None, **options):
        return round_require(recipe, self.site, VERIFICATION_KEY, memory=memory, **options)


@pytest.fixture(scope="module")
def scene():
    return Scene()


@pytest.fixture
def memory(tmp_path):
    with RoundsMemory(tmp_path / "rounds") as opened:
        yield opened


def test_a_round_as_published_is_taken_part_in_also_when_seen_again(scene, memory):
    for _ in range(2):
        assert scene.check(scene.round(3), memory).number == 3


def test_a_second_recipe_with_the_number_of_a_round_is_refused_for_good(scene, memory, tmp_path):
    scene.check(scene.round(3), memory)
    later = dataclasses.replace(
        scene.round(3), opens_at=NOW.replace(day=2), closes_at=NOW.replace(day=2, minute=1)
    )
    memory.close()
    with RoundsMemory(tmp_path / "rounds") as again, pytest.raises(RoundRefusedError, match="another recipe"):
        scene.check(later, again)


def test_a_round_that_its_document_does_not_carry_is_refused(scene):
    beyond = RoundPlace(of=scene.rounds.identifier, number=6)
    cheaper = tuple({**one, "epsilon": 1e-3} for one in scene.rounds.privacy)
    understated = dataclasses.replace(scene.rounds, privacy=cheaper)
    forged = Site(scene.rounds)
    forged.key = Ed25519PrivateKey.generate()
    recipe = scene.round(1)
    for wrong, site, error, reason in (
        (scene.round(5).having(round=beyond), scene.site, RoundRefusedError, "5 rounds"),
        (dataclasses.replace(recipe, simulation=True), scene.site, RoundRefusedError, "simulation"),
        (recipe, forged, RecipeVerificationError, None),
        (recipe, Site(), TransportError, None),
        (scene.round(1, of=understated.identifier), Site(understated), FieldError, "does not state"),
    ):
        with pytest.raises(error, match=reason):
            round_require(wrong, site, VERIFICATION_KEY, memory=None)
    with field_refused("rounds"):
        scene.check(recipe, limits=RecipeLimits(largest_epsilon=0.01))


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 2.0},
        {"cohort_size": 21},
        {"sampling_rate": 0.5},
        {"question": "And now?"},
        {"population": "others"},
        {"round_seconds": 61},
        {"event": "crash"},
    ],
)
def test_a_round_that_asks_anything_else_is_refused(scene, changes):
    other = RoundsDraft.from_mapping({**scene.draft.as_dict(), **changes})
    with pytest.raises(RoundRefusedError):
        scene.check(scene.round(1, draft=other))


def test_a_device_that_gives_once_gives_in_no_other_round(memory):
    scene = Scene(donation_rounds=4)
    scene.check(scene.round(1), memory)  # its coin said no
    scene.check(scene.round(2), memory).record_donation()
    scene.check(scene.round(2), memory)  # it lost power, and joins that round again
    with pytest.raises(AlreadyContributedError, match="round 2"):
        scene.check(scene.round(3), memory)


def test_a_device_of_other_rounds_draws_anew_in_each(scene, memory):
    for number in (1, 2, 3):
        scene.check(scene.round(number), memory).record_donation()


def test_a_public_input_is_checked_against_the_hash_in_the_round():
    scene = Scene(public_input=True)
    of = scene.rounds.identifier
    mine, other = (RoundInput.made(of=of, number=number, content={"w": [0.5]}) for number in (1, 2))
    scene.site = Site(scene.rounds, mine, other)
    turn = scene.check(scene.round(1, input_=mine.identifier))
    assert turn.input.content == {"w": [0.5]}
    with pytest.raises(RoundRefusedError, match="another round"):
        scene.check(scene.round(1, input_=other.identifier))
    with pytest.raises(RoundRefusedError, match="public input"):
        scene.check(scene.round(1))
    with pytest.raises(TransportError):
        scene.check(scene.round(1, input_="0" * 64))


def test_a_memory_that_is_none_is_refused_and_kept(tmp_path):
    path = tmp_path / "rounds"
    for content in (b"", b"{}", b'{"format": "panapp-device-rounds-1", "documents": {"a": {}}}'):
        path.write_bytes(content)
        with pytest.raises(RoundsMemoryError):
            RoundsMemory(path)
        assert path.read_bytes() == content
