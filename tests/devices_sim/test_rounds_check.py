"""A device takes part in a round only where it is what all rounds were said to be, and each number once."""

import dataclasses
import json
import random
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from devices_sim.rounds_check import AlreadyGaveError, round_require
from devices_sim.rounds_memory import RoundsMemory, RoundsMemoryError
from devices_sim.transport import Answer, Transport, TransportError
from panprivacy import base64_text
from panprivacy.asked_round import AskedRound
from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.errors import FieldError
from panprivacy.limits import RecipeLimits
from panprivacy.recipe import PublishedRecipe
from panprivacy.rounds.document import PublishedRounds, RoundRefusedError
from panprivacy.rounds.draft import RoundsDraft
from panprivacy.rounds.public_input import RoundInput
from panprivacy.trust_models.members import RecipeVerificationError
from panprivacy.trust_models.single_server import OneServer
from tests.factories import recipe_members

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
        place = AskedRound(of=of or self.rounds.identifier, number=number, input=input_)
        return (draft or self.draft).round(place, NOW).publish(self.servers, NOW)

    def look(self, recipe, memory=None, **options):
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
        assert scene.look(scene.round(3), memory).number == 3


def test_documents_of_rounds_are_read_as_they_were_written(scene):
    recipe = scene.round(2)
    assert PublishedRecipe.from_document(json.loads(recipe.canonical)) == recipe
    assert PublishedRounds.from_document(json.loads(scene.rounds.canonical)) == scene.rounds


def test_a_second_recipe_with_the_number_of_a_round_is_refused_for_good(scene, memory, tmp_path):
    scene.look(scene.round(3), memory)
    later = dataclasses.replace(
        scene.round(3), opens_at=NOW.replace(day=2), closes_at=NOW.replace(day=2, minute=1)
    )
    memory.close()
    with RoundsMemory(tmp_path / "rounds") as again, pytest.raises(RoundRefusedError, match="another recipe"):
        scene.look(later, again)


def test_a_round_beyond_the_last_is_refused(scene):
    with pytest.raises(RoundRefusedError, match="5 rounds"):
        scene.look(
            dataclasses.replace(scene.round(5), round=AskedRound(of=scene.rounds.identifier, number=6))
        )


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
        scene.look(scene.round(1, draft=other))


def test_a_round_of_a_simulation_is_none_of_a_real_document(scene):
    with pytest.raises(RoundRefusedError, match="simulation"):
        scene.look(dataclasses.replace(scene.round(1), simulation=True))


def test_a_document_that_another_key_signed_is_refused(scene):
    site = Site(scene.rounds)
    site.key = Ed25519PrivateKey.generate()
    with pytest.raises(RecipeVerificationError):
        round_require(scene.round(1), site, VERIFICATION_KEY, memory=None)


def test_a_round_whose_document_nobody_serves_is_refused(scene):
    with pytest.raises(TransportError):
        round_require(scene.round(1), Site(), VERIFICATION_KEY, memory=None)


def test_a_document_that_understates_what_all_rounds_cost_is_refused(scene):
    cheap = dataclasses.replace(
        scene.rounds, privacy=tuple({**one, "epsilon": 1e-3} for one in scene.rounds.privacy)
    )
    with pytest.raises(FieldError, match="does not state"):
        round_require(scene.round(1, of=cheap.identifier), Site(cheap), VERIFICATION_KEY, memory=None)


def test_rounds_that_cost_more_together_than_the_device_allows_are_refused(scene):
    with pytest.raises(FieldError) as refusal:
        scene.look(scene.round(1), limits=RecipeLimits(largest_epsilon=0.01))
    assert refusal.value.field == "rounds"


def test_a_device_that_gives_once_gives_in_no_other_round(memory):
    scene = Scene(donation_rounds=4)
    scene.look(scene.round(1), memory)  # its coin said no
    scene.look(scene.round(2), memory).give()
    scene.look(scene.round(2), memory)  # it lost power, and joins that round again
    with pytest.raises(AlreadyGaveError, match="round 2"):
        scene.look(scene.round(3), memory)


def test_a_device_of_other_rounds_draws_anew_in_each(scene, memory):
    for number in (1, 2, 3):
        scene.look(scene.round(number), memory).give()


def test_a_public_input_is_checked_against_the_hash_in_the_round():
    scene = Scene(public_input=True)
    of = scene.rounds.identifier
    mine, other = (RoundInput.made(of=of, number=number, content={"w": [0.5]}) for number in (1, 2))
    scene.site = Site(scene.rounds, mine, other)
    turn = scene.look(scene.round(1, input_=mine.identifier))
    assert turn.input.content == {"w": [0.5]}
    with pytest.raises(RoundRefusedError, match="another round"):
        scene.look(scene.round(1, input_=other.identifier))
    with pytest.raises(RoundRefusedError, match="public input"):
        scene.look(scene.round(1))
    with pytest.raises(TransportError):
        scene.look(scene.round(1, input_="0" * 64))


def test_a_memory_that_is_none_is_refused_and_kept(tmp_path):
    path = tmp_path / "rounds"
    for content in (b"", b"{}", b'{"format": "panapp-device-rounds-1", "documents": {"a": {}}}'):
        path.write_bytes(content)
        with pytest.raises(RoundsMemoryError):
            RoundsMemory(path)
        assert path.read_bytes() == content
