"""Publishing with other servers: helper, shuffler and issuer agree first, and nothing is left at them."""

import base64
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from dap.leader import plain_tasks
from dap.leader.errors import RegistrationOverError
from dap.leader.models import Registration
from dap.leader.plain_tasks import PlainTask, plain_task_create
from dap.leader.registrations import LONGEST_BEGINNING, registration_note, registrations_call_off
from dap.models import Side, Task
from ledger.models import Spending
from log.audit.models import Entry
from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.recipe.document import PublishedRecipe
from partners.client import PeerUnavailableError
from partners.partner import Partner
from partners.roles import HELPER, ISSUER, SHUFFLER, PartnerRole
from publishing import configured_partners, two_server
from publishing.admission import Admitting
from publishing.publication import recipe_publish, recipe_publish_file
from publishing.review import review_of
from recipes.errors import PartnerUnavailableError, RecipeStateError
from recipes.models import PartnerSignature, Recipe, RecipeKey
from recipes.operations import recipe_draft_save
from storage.signing_key import verification_key
from tests import network
from tests.collections.publishing import scene
from tests.collections.publishing.scene import partner, partners, two_server_members, two_server_recipe
from tests.collections.shuffle.analyzer import scene as shuffled
from tests.collections.shuffle.shuffler.scene import shuffle_members
from tests.collections.tokens.admission.scene import FakeIssuer
from tests.factories import published_recipe, recipe_members
from tokens.admission.models import Issuance

pytestmark = pytest.mark.django_db


def two_server_draft(**changes: Any) -> Recipe:
    return recipe_draft_save(members=two_server_members(**changes), actor=None)


def died(**_: object) -> None:
    raise KeyboardInterrupt


def publish(draft: Recipe, transport: Any = scene.reached) -> Recipe:
    return recipe_publish(recipe=draft, actor=None, partners=partners(transport))


def in_an_hour() -> datetime:
    return timezone.now() + timedelta(hours=1)


def call_off(transport: Any = scene.reached, *, now: datetime) -> None:
    registrations_call_off(now=now, transport=transport)


def tasks_of_both() -> set[tuple[str, str]]:
    """Side and state of every task of either server."""
    return set(Task.objects.values_list("side", "state"))


@pytest.mark.parametrize(
    "changes",
    [{}, {"statistic": "histogram", "k": 2, "encryption": "paillier-2048"}],
    ids=["count", "histogram"],
)
def test_publish_makes_one_task_on_both_sides_and_no_key_here(changes: dict[str, Any]) -> None:
    recipe = two_server_recipe(**changes)
    document = json.loads(recipe.document)
    assert [document[side]["url"] for side in ("leader", "helper")] == [scene.LEADER_URL, scene.HELPER_URL]
    ours, theirs = (scene.task(recipe, side) for side in (Side.LEADER, Side.HELPER))
    assert bytes(ours.configuration) == bytes(theirs.configuration)
    assert ours.document == theirs.document == recipe.document
    assert not RecipeKey.objects.exists()
    assert not Registration.objects.exists()


def test_publish_again_after_a_lost_answer_ends_the_first_task() -> None:
    draft = two_server_draft()
    with pytest.raises(PartnerUnavailableError):
        publish(draft, scene.losing_answers("PUT"))
    published = publish(draft)
    call_off(now=in_an_hour())
    assert not Registration.objects.exists()
    (ended,) = Task.objects.filter(side=Side.HELPER, state=Task.State.ENDED)
    assert ended.share_key is None
    assert scene.task(published, Side.HELPER).state == Task.State.OPEN


def test_publish_that_dies_before_it_is_stored_leaves_a_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    draft = two_server_draft()
    monkeypatch.setattr(two_server, "task_create", died)
    with pytest.raises(KeyboardInterrupt):
        publish(draft)
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.DRAFT
    assert not PartnerSignature.objects.exists()
    assert not Entry.objects.filter(action="recipe_published").exists()
    assert tasks_of_both() == {("helper", "open")}
    call_off(now=in_an_hour())
    assert tasks_of_both() == {("helper", "ended")}


def test_registration_that_was_given_up_cannot_be_published_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    # The helper is told it is over while a slow process still holds its signature.
    create = two_server._AgreedTask.store

    def slow(self: Any, recipe: Recipe) -> None:
        call_off(now=in_an_hour())
        create(self, recipe)

    monkeypatch.setattr(two_server._AgreedTask, "store", slow)
    draft = two_server_draft()
    with pytest.raises(RecipeStateError, match="took so long"):
        publish(draft)
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.DRAFT


def test_registration_is_kept_until_the_helper_has_acknowledged_its_end() -> None:
    with pytest.raises(PartnerUnavailableError):
        publish(two_server_draft(), scene.losing_answers("PUT"))
    later = timezone.now() + LONGEST_BEGINNING + timedelta(seconds=1)
    call_off(scene.unreachable, now=later)
    assert Registration.objects.exists()
    call_off(scene.losing_answers("DELETE"), now=later)
    assert Registration.objects.exists()
    call_off(now=later)
    assert not Registration.objects.exists()


def test_publish_spends_the_same_as_with_one_server() -> None:
    two_server_recipe()
    published_recipe()
    one, other = Spending.objects.all()
    assert (one.event, one.event_if_half_colludes) == (other.event, other.event_if_half_colludes)


PLAIN_TASK = PlainTask(
    vdaf="prio3count", parameters={}, min_batch_size=3, batch_mode="time-interval", time_precision=3600
)


def create_plain(transport: Any = scene.reached) -> Task:
    return plain_task_create(
        plain=PLAIN_TASK, partner=partner(transport), now=timezone.now(), random_source=secrets.SystemRandom()
    )


def test_create_of_a_plain_task_leaves_no_note() -> None:
    create_plain()
    call_off(now=in_an_hour())
    assert not Registration.objects.exists()
    assert tasks_of_both() == {("leader", "open"), ("helper", "open")}


@pytest.mark.parametrize("dies", [True, False], ids=["dies before it is stored", "loses the answer"])
def test_create_that_fails_is_ended_at_the_helper(monkeypatch: pytest.MonkeyPatch, dies: bool) -> None:
    if dies:
        monkeypatch.setattr(plain_tasks, "task_create", died)
    with pytest.raises((KeyboardInterrupt, PeerUnavailableError)):
        create_plain(scene.reached if dies else scene.losing_answers("PUT"))
    assert tasks_of_both() == {("helper", "open")}
    call_off(now=in_an_hour())
    helper_task = Task.objects.get()
    assert (helper_task.state, helper_task.verify_key) == ("ended", None)
    assert not Registration.objects.exists()


def test_create_that_was_called_off_meanwhile_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    register = plain_tasks.plain_task_register

    def slow(*arguments: Any, **named: Any) -> None:
        register(*arguments, **named)
        call_off(now=in_an_hour())

    monkeypatch.setattr(plain_tasks, "plain_task_register", slow)
    with pytest.raises(RegistrationOverError):
        create_plain()
    assert tasks_of_both() == {("helper", "ended")}


def test_call_off_asks_each_helper_and_a_silent_one_holds_up_no_other() -> None:
    asked = []

    def carry(method: str, url: str, headers: Any, body: bytes) -> Any:
        asked.append(url)
        raise ConnectionRefusedError

    urls = ("https://gone.example/helper", "https://gone.example/helper", scene.HELPER_URL)
    for number, url in enumerate(urls):
        other = replace(partner(), url=url)
        registration_note(task_id=bytes([number]) * 32, partner=other, now=timezone.now())
    call_off(carry, now=in_an_hour())
    assert [url.partition("/tasks")[0] for url in asked] == [urls[0], urls[2]]
    assert Registration.objects.count() == 3


class Server(NamedTuple):
    """A server that must agree.

    Attributes:
        members: a recipe file that needs it.
        partner: makes the way to it, over a network that works.
        refused: a change of the file that it refuses, and a part of its words.
    """

    role: PartnerRole
    members: Mapping[str, Any]
    partner: Callable[[], Partner]
    refused: tuple[Mapping[str, Any], str]

    @property
    def field(self) -> str:
        """The field of the file that asks for it."""
        return "admission" if self.role is ISSUER else "trust"

    def named(self, partner: Partner | None) -> dict[str, Any]:
        """Arguments with which publishing finds this partner, or none."""
        if self.role is ISSUER:
            return {"admitting": Admitting(partner)}
        trust = Trust.TWO_SERVER if self.role is HELPER else Trust.SHUFFLER
        return {"partners": {} if partner is None else {trust: partner}}

    def draft(self) -> Recipe:
        return recipe_draft_save(members=self.members, actor=None)

    def publish(self, draft: Recipe, partner: Partner | None = None) -> Recipe:
        return recipe_publish(recipe=draft, actor=None, **self.named(partner or self.partner()))


def issuer() -> Partner:
    partner = FakeIssuer().admitting().issuer
    assert partner is not None
    return partner


FEW = ({"cohort_size": 2}, "at least 3")
SERVERS = {
    "helper": Server(HELPER, recipe_members(trust="two_server"), scene.partner, FEW),
    "shuffler": Server(SHUFFLER, shuffle_members(), lambda: shuffled.partners()[Trust.SHUFFLER], FEW),
    "issuer": Server(ISSUER, recipe_members(admission="token"), issuer, ({}, "It may not be.")),
}
LOST = {"helper": (None, "POST", "PUT"), "shuffler": (None, "PUT"), "issuer": (None, "POST", "PUT")}
"""Methods of requests to which the answer is lost; None where no request arrives."""

of_each = pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
of_these = pytest.mark.parametrize("name", ["helper", "shuffler"])


def assert_nothing_is_published() -> None:
    for model in (RecipeKey, PartnerSignature, Issuance):
        assert not model.objects.exists()
    assert not Entry.objects.filter(action="recipe_published").exists()
    assert not Recipe.objects.exclude(status=Recipe.Status.DRAFT, identifier=None).exists()


@of_each
def test_published_recipe_is_served_as_a_device_verifies_it(client: Client, server: Server) -> None:
    recipe = server.publish(server.draft())
    served = client.get(f"/api/v1/recipes/{recipe.identifier}/").json()
    signed_by = [name for name in SERVERS if served[f"{name}_signature"] is not None]
    assert signed_by == [server.role.name]
    part = "issuer" if server.role is ISSUER else "partner"
    signature = base64.b64decode(served[f"{server.role.name}_signature"])
    PublishedRecipe.verified(
        served["document"],
        served["id"],
        base64.b64decode(served["signature"]),
        verification_key(),
        **{f"{part}_key": public_key_of(server.partner().verification_key), f"{part}_signature": signature},
    )


def test_open_recipe_of_one_server_has_no_signature_of_others(client: Client) -> None:
    served = client.get(f"/api/v1/recipes/{published_recipe().identifier}/").json()
    assert [served[f"{name}_signature"] for name in SERVERS] == [None] * 3
    assert not Issuance.objects.exists()


@of_each
def test_publish_without_the_server_says_how_to_set_one_up(server: Server) -> None:
    draft = server.draft()
    with pytest.raises(FieldError, match=server.role.missing) as refused:
        recipe_publish(recipe=draft, actor=None, **server.named(None))
    assert refused.value.field == server.field
    assert server.role.how_to_set_up in str(refused.value)
    assert_nothing_is_published()


@pytest.mark.parametrize(
    ("name", "method"), [(name, method) for name, methods in LOST.items() for method in methods]
)
def test_publish_without_an_answer_keeps_the_draft_for_later(name: str, method: str | None) -> None:
    server = SERVERS[name]
    draft, working = server.draft(), server.partner()
    content = draft.draft_hash
    broken = network.losing_answers(working.transport, method) if method else network.unreachable
    with pytest.raises(PartnerUnavailableError, match=f"the {name} at .* did not answer.*try again later"):
        server.publish(draft, replace(working, transport=broken))
    draft.refresh_from_db()
    assert draft.draft_hash == content
    assert_nothing_is_published()
    assert server.publish(draft, working).status == Recipe.Status.PUBLISHED


@of_these
def test_publish_to_a_server_that_knows_another_key_names_ours(name: str) -> None:
    server = SERVERS[name]
    stranger = replace(server.partner(), signing_key=bytes(range(100, 132)))
    ours = base64.b64encode(network.verification_key_of(stranger.signing_key)).decode()
    with pytest.raises(PartnerUnavailableError, match="does not accept the signature of this") as refused:
        server.publish(server.draft(), stranger)
    assert f"{server.role.our_key_setting} to {ours}" in str(refused.value)
    assert "try again" not in str(refused.value)
    assert_nothing_is_published()


@of_each
def test_publish_to_another_server_than_the_one_set_up_is_refused(server: Server) -> None:
    other = replace(server.partner(), verification_key=network.verification_key_of(bytes(32)))
    with pytest.raises(PartnerUnavailableError, match=f"does not sign as the {server.role.name}"):
        server.publish(server.draft(), other)
    assert_nothing_is_published()


@of_each
def test_publish_that_the_server_refuses_says_why_and_stores_nothing(server: Server) -> None:
    changes, words = server.refused
    partner = server.partner()
    if isinstance(partner.transport, FakeIssuer):
        partner.transport.refusal = (400, "/problems/refused")
    with pytest.raises(FieldError, match=rf"the {server.role.name} at .* refuses .*{words}") as refused:
        recipe_publish_file(members={**server.members, **changes}, actor=None, **server.named(partner))
    assert refused.value.field == server.field
    assert not Recipe.objects.exists()
    assert_nothing_is_published()


def test_what_a_partner_signed_cannot_be_changed() -> None:
    SERVERS["shuffler"].publish(SERVERS["shuffler"].draft())
    with transaction.atomic(), pytest.raises(IntegrityError, match="what a partner signed"):
        PartnerSignature.objects.update(signature=b"")


@of_these
def test_reports_for_one_server_are_refused_and_sent_on(client: Client, name: str) -> None:
    recipe = SERVERS[name].publish(SERVERS[name].draft())
    problem, url = {
        "helper": ("/problems/recipe-of-two-servers", scene.LEADER_URL),
        "shuffler": ("/problems/recipe-of-a-shuffler", shuffled.SHUFFLER_URL),
    }[name]
    for path in ("reports/", "reports/batch/"):
        address = f"/api/v1/recipes/{recipe.identifier}/{path}"
        answer = client.post(address, {"reports": []}, content_type="application/json")
        assert (answer.status_code, answer.json()["type"]) == (409, problem)
        assert url in answer.json()["detail"]


def test_settings_name_helper_and_shuffler(settings: Any) -> None:
    settings.SHUFFLER_URL, settings.SHUFFLER_KEY = shuffled.SHUFFLER_URL, bytes(32)
    found = {trust: partner.url for trust, partner in configured_partners().items()}
    helpers = dict.fromkeys((Trust.TWO_SERVER, Trust.JOINT_KEY), scene.HELPER_URL)
    assert found == helpers | {Trust.SHUFFLER: shuffled.SHUFFLER_URL}


@pytest.mark.parametrize(
    ("asked", "setting"),
    [
        ({"admission": "token"}, "PANAPP_ISSUER_URL and PANAPP_ISSUER_KEY"),
        ({"relay": True}, "PANAPP_RELAY_URL"),
    ],
)
def test_review_says_which_setting_is_missing_as_publishing_does(asked: dict[str, Any], setting: str) -> None:
    members = recipe_members(**asked)
    with pytest.raises(FieldError, match=setting) as refused:
        recipe_publish_file(members=members, actor=None)
    assert refused.value.field in asked
    review = review_of(members, now=timezone.now())
    assert not review.publishable
    assert str(review.refusal) == str(refused.value)
