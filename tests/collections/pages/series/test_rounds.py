"""A draft is asked in rounds from its page: what all of them promise stands there before, and what is wrong
stands at its field."""

import pytest
from django.test import Client
from django.urls import reverse
from kombu.exceptions import OperationalError

from ledger.budget import Budget
from ledger.models import Spending
from ledger.operations import population_create
from pages.all_rounds import main_of
from pages.words.sentences import guarantee_texts
from panprivacy.accounting import number_cache
from panprivacy.recipe.rounds.document import PublishedRounds
from panprivacy.recipe.rounds.draft import RoundsDraft
from recipes.models import Recipe
from recipes.planner.guarantees import guarantee_from_mapping, guaranteed
from series.models import RoundsDocument, Series
from series.operations import rounds_advance, series_publish
from series.rounds import input_publish
from storage.answers import questions
from tests.collections.recipes.planner.scene import another_process, own_caches
from tests.collections.storage.answers.scene import leases_end, work, workers_answer
from tests.factories import draft_recipe, event_until, recipe_members
from tests.page_text import page_text
from tests.refusals import raising
from tests.scenes import account
from web.numbers import significant

pytestmark = pytest.mark.django_db

ASKED = {"steps": 1, "step_seconds": 1, "cohort_size": 20, "sampling_rate": 0.2}
GIVEN = {"rounds": "3", "round_seconds": "60"}


def address(draft, name="draft-rounds"):
    return reverse(name, args=[draft.pk])


def errors(answer):
    assert answer.status_code == 422
    return dict(answer.context["form"].errors)


def test_a_draft_is_published_in_rounds_under_one_document(signed_in):
    draft = draft_recipe(**ASKED)
    assert address(draft) in signed_in.get(reverse("recipe-draft", args=[draft.pk])).content.decode()
    answer = signed_in.post(address(draft), GIVEN | {"public_input": "on"})
    signed = RoundsDocument.objects.get()
    assert answer.headers["Location"] == reverse("series", args=[signed.series.identifier])
    assert (signed.stated["rounds"], signed.stated["round_seconds"]) == (3, 60)
    assert (signed.stated["public_input"], signed.once) == (True, False)
    assert Recipe.objects.get(pk=draft.pk).status == Recipe.Status.DRAFT
    # Donation rounds set the sampling rate, whatever the draft says.
    signed_in.post(address(draft), {"donation_rounds": "4", "round_seconds": "60"})
    donated = RoundsDocument.objects.latest("pk")
    assert (donated.once, donated.stated["asks"]["sampling_rate"]) == (True, 1 / 4)


def test_preview_states_what_the_document_and_the_budget_will(signed_in):
    population_create(name="pilots", description="", budget=Budget(epsilon=2.0, delta=1e-4), actor=None)
    draft = draft_recipe(population="pilots", **ASKED)
    preview = signed_in.post(address(draft, "draft-rounds-preview"), GIVEN).context["preview"]
    assert not Series.objects.exists()
    signed_in.post(address(draft), GIVEN)
    signed = RoundsDocument.objects.get()
    together = event_until(RoundsDraft.from_mapping(signed.series.draft), 3)
    assert Spending.objects.get().event == together.as_dict()
    assert preview.effect.composed == pytest.approx(together.epsilon(1e-4))
    assert preview.guarantees == guarantee_texts(
        guarantee_from_mapping(one) for one in signed.stated["privacy"]
    )


def test_numbers_of_donation_rounds_are_shown_with_delta_and_relation(signed_in):
    given = {"donation_rounds": "4", "round_seconds": "60"}
    answer = signed_in.post(address(draft_recipe(**ASKED), "draft-rounds-preview"), given)
    donation, text = answer.context["preview"].donation, page_text(answer)
    for shown, delta in ((donation.epsilon, "1e-6"), (donation.printed_epsilon, "5e-6")):
        assert f"{significant(shown, 3)} (δ = {delta})" in text, text
        assert str(shown) not in text
    assert "both under replacement" in text
    assert "missing in later rounds" in text


def test_preview_says_what_keeps_it_from_being_computed(signed_in):
    draft = draft_recipe(**ASKED)
    for given, said in (
        (GIVEN | {"rounds": ""}, "Rounds:"),
        (GIVEN | {"rounds": "0"}, "Must be from 1 to 10,000"),
    ):
        text = page_text(signed_in.post(address(draft, "draft-rounds-preview"), given))
        assert "Not computed yet" in text
        assert said in text
    shown = signed_in.post(address(draft), GIVEN | {"action": "preview"})
    assert shown.status_code == 200
    assert shown.context["preview"].seconds == 180
    assert not Series.objects.exists()


def test_what_cannot_be_stands_at_its_field(signed_in):
    draft, long_name = draft_recipe(**ASKED), draft_recipe(name="n" * 120, **ASKED)
    for given, field, said in (
        ({"rounds": ""}, "rounds", "Fill in this or “Donation rounds”"),
        ({"donation_rounds": "4"}, "rounds", "not both"),
        ({"rounds": "10001"}, "rounds", "from 1 to 10,000"),
        ({"rounds": "", "donation_rounds": "1"}, "donation_rounds", "from 2 to 10,000"),
        ({"round_seconds": ""}, "round_seconds", "required"),
        ({"round_seconds": "1"}, "round_seconds", "above 1"),
        ({"round_seconds": "2678401"}, "round_seconds", "from 1 to 2,678,400"),
    ):
        found = errors(signed_in.post(address(draft), GIVEN | given))
        assert list(found) == [field]
        assert said in " ".join(found[field])
    found = errors(signed_in.post(address(long_name), GIVEN))
    assert found == {"__all__": ["Name: must have at most 98 characters if it has rounds."]}
    assert not Series.objects.exists()


def test_suggested_round_is_long_enough_for_the_steps_and_said_in_words(signed_in):
    draft = draft_recipe(**ASKED | {"steps": 6, "step_seconds": 86_400})
    page = signed_in.get(address(draft))
    suggested = page.context["form"]["round_seconds"].initial
    assert suggested == 7 * 86_400
    assert "7 days (604,800 s); the steps take 6 days" in page_text(page)
    assert signed_in.post(address(draft), GIVEN | {"round_seconds": suggested}).status_code == 302
    found = errors(signed_in.post(address(draft), GIVEN | {"round_seconds": 6 * 86_400}))
    assert "above 6 days (518,400 s)" in found["round_seconds"][0]


def test_local_limit_is_of_each_round_and_the_preview_says_so(signed_in, settings):
    settings.LARGEST_LOCAL_EPSILON = 2.5
    draft = draft_recipe(**ASKED | {"epsilon": 2.0})
    said = "This site’s limit on the local ε (2.5) is for each round by itself, not for all of them."
    assert said in page_text(signed_in.post(address(draft, "draft-rounds-preview"), GIVEN))
    # Three rounds of 2 each are more than 2.5 in total.
    assert signed_in.post(address(draft), GIVEN).status_code == 302
    settings.LARGEST_LOCAL_EPSILON = 1.5
    assert errors(signed_in.post(address(draft), GIVEN | {"rounds": "1"}))


def test_only_signed_ins_ask_in_rounds_and_only_drafts(client, signed_in):
    draft = draft_recipe(**ASKED)
    signed_in.post(reverse("recipe-publish", args=[draft.pk]), {"reviewed": draft.draft_hash})
    assert signed_in.get(address(draft)).status_code == 404
    client.logout()
    assert client.post(address(draft_recipe(**ASKED)), GIVEN).status_code in (302, 403)
    assert not Series.objects.exists()


def test_page_of_rounds_says_what_they_wait_for_and_what_all_guarantee(client):
    in_rounds = {"steps": 1, "step_seconds": 1, "rounds": 3, "round_seconds": 60, "public_input": True}
    members = recipe_members(cohort_size=20, sampling_rate=0.2, **in_rounds)
    series = series_publish(members=members, actor=None)
    address = reverse("series", args=[series.identifier])
    page = client.get(address).content.decode()
    assert "3 rounds, one after the\n  other" in page
    assert "waits\n  for its public input" in page
    assert "What all 3 rounds guarantee together" in page
    assert "hx-get" not in page, "it may wait for days"
    assert "All rounds together: Someone who sees only the combined result" in page_text(client.get(address))
    main = client.get(address).context["main"]
    assert main.numbers.startswith("privacy loss ε = ")
    assert main in client.get(address).context["guarantees"]
    input_publish(series=series, number=1, content={}, actor=None)
    waiting = client.get(address).content.decode()
    assert "opens within seconds" in waiting
    assert f'<div id="series" hx-get="{address}" hx-trigger="every 3s" hx-select="#series"' in waiting
    rounds_advance()
    assert "hx-get" not in client.get(address).content.decode()
    assert "opens when this one has ended" in client.get(address).content.decode()


@pytest.mark.parametrize("given", [{"rounds": 3, "sampling_rate": 0.2}, {"donation_rounds": 3}])
def test_page_of_one_round_says_what_all_of_them_guarantee_together(client, given):
    members = recipe_members(steps=1, step_seconds=1, round_seconds=60, cohort_size=20, **given)
    series = series_publish(members=members, actor=None)
    rounds_advance()
    answer = client.get(reverse("recipe-privacy", args=[Recipe.objects.get().identifier]))
    text = page_text(answer)
    local = "privacy loss ε = 2" if "donation_rounds" in given else "privacy loss ε = 6"
    together = text.split("The numbers below are of this round alone. ")[1].split(
        "What all rounds guarantee"
    )[0]
    assert main_of(series.rounds_document).numbers in together
    assert f"report: {local}, " in together
    assert f'href="{reverse("series", args=[series.identifier])}"' in answer.content.decode()


# What all rounds cost together is computed by a worker where a request has no time for it.

BY_WORKER = {"steps": 1, "step_seconds": 1, "cohort_size": 6, "sampling_rate": 0.25}


@pytest.fixture
def sent(monkeypatch, settings):
    """Long questions that requests send to workers."""
    own_caches(settings, "composed")
    return workers_answer(monkeypatch, previews=True)


def rounds_draft() -> RoundsDraft:
    return RoundsDraft.from_mapping(recipe_members(**BY_WORKER, rounds=3, round_seconds=60))


def test_preview_asks_a_worker_once_without_scripts(signed_in: Client, sent: list[str]) -> None:
    address = reverse("draft-rounds", args=[draft_recipe(**BY_WORKER).pk])
    answer = signed_in.post(address, GIVEN | {"action": "preview"})
    assert answer.status_code == 302
    waiting = signed_in.get(answer.headers["Location"])
    assert waiting.headers["Refresh"] == str(3)
    assert "Being computed" in page_text(waiting)
    assert len(sent) == 1
    work(sent)
    found = signed_in.get(answer.headers["Location"])
    assert "Refresh" not in found.headers
    assert found.context["preview"].draft.rounds == 3
    assert sent == []


def test_rounds_are_published_with_what_a_worker_computed(
    signed_in: Client, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("draft-rounds", args=[draft_recipe(**BY_WORKER).pk])
    refused = signed_in.post(address, GIVEN)
    assert refused.status_code == 422
    assert "is being computed" in page_text(refused)
    assert not Series.objects.exists()
    work(sent)
    another_process()
    with monkeypatch.context() as patched:
        patched.setattr(
            "panprivacy.accounting.sampling.Sampling.delta_bound", lambda *_: pytest.fail("computed again")
        )
        assert signed_in.post(address, GIVEN).status_code == 302
    stated = RoundsDocument.objects.get().stated["privacy"]
    another_process()
    monkeypatch.setattr(number_cache, "_cache", None)
    assert stated == [dict(one) for one in PublishedRounds.of(rounds_draft(), series="0" * 16).privacy]


def test_approval_waits_for_the_label_of_all_rounds(signed_in: Client, sent: list[str]) -> None:
    population_create(name="pilots", description="", budget=None, actor=None, four_eyes=True)
    draft = draft_recipe(population="pilots", **BY_WORKER)
    asked = signed_in.post(reverse("draft-rounds", args=[draft.pk]), GIVEN).headers["Location"]
    signed_in.force_login(account("bea", "Analysts"))
    waiting = signed_in.get(asked)
    assert waiting.headers["Refresh"] == str(3)
    assert "Being computed" in page_text(waiting)
    assert 'value="approve"' not in waiting.content.decode()
    work(sent)
    found = signed_in.get(asked)
    assert "Refresh" not in found.headers
    assert found.context["guarantees"]
    for said in ("Privacy label of all rounds together", "3 times", 'value="approve"'):
        assert said in page_text(found)
    assert not Series.objects.exists()


@pytest.mark.parametrize("is_sent", [False, True])
def test_without_a_worker_preview_and_publishing_say_so(signed_in, sent, monkeypatch, is_sent):
    if is_sent:  # the broker takes the task, and no worker begins it in time
        guaranteed(asked=rounds_draft())
        leases_end()
    else:
        monkeypatch.setattr(questions, "_message", raising(OperationalError))
        monkeypatch.setattr(questions, "_silent_until", 0.0)
    draft = address(draft_recipe(**BY_WORKER))
    shown = signed_in.get(draft, GIVEN | {"preview": "1"})
    assert "Refresh" not in shown.headers
    assert "none has begun" in page_text(shown)
    assert "none has begun" in page_text(signed_in.post(draft, GIVEN))
    assert not Series.objects.exists()
