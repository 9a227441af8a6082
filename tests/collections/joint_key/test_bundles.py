"""Bundles of results: who may have them, that they recompute, and what others file about them."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from log.audit.models import Entry
from log.public_log.tree_growth import integrate
from panprivacy.recompute.__main__ import main
from panprivacy.recompute.bundle import NAMES
from recipes.models import Recipe
from results.verdicts import MOST_OF_AN_ACCOUNT, MOST_VERDICTS, verdict_file
from tests.collections.joint_key.scene import closed, joint_recipe, settle
from tests.factories import published_recipe
from tests.page_text import page_text
from tests.scenes import analyst, auditor

pytestmark = pytest.mark.django_db


def released(**changes: Any) -> Recipe:
    recipe = closed(**changes)
    settle()
    integrate()
    return recipe


def bundle_of(client: Client, recipe: Recipe) -> Any:
    return client.get(reverse("api-bundle", args=[recipe.identifier]))


HIDDEN = {"hidden_count": {"epsilon": 1, "delta": 1e-6}, "sampling_rate": 0.1, "population_size": 10_000}


@pytest.mark.parametrize("changes", [{}, HIDDEN])
def test_bundle_over_the_api_recomputes(
    changes: dict[str, Any], client: Client, tmp_path: Path, capsys: Any
) -> None:
    answer = bundle_of(client, released(bad=1, **changes))
    content = b"".join(answer.streaming_content)
    assert answer["Content-Length"] == str(len(content))
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        assert sorted(tar.getnames()) == sorted(NAMES)
        tar.extractall(tmp_path, filter="data")
    assert main([str(tmp_path), "--workers", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"] is True


def test_command_writes_a_bundle_once(tmp_path: Path) -> None:
    recipe, folder = released(), tmp_path / "bundle"
    call_command("results", "bundle", recipe.identifier, str(folder))
    assert {each.name for each in folder.iterdir()} == set(NAMES)
    with pytest.raises(CommandError, match="File exists"):
        call_command("results", "bundle", recipe.identifier, str(folder))
    with pytest.raises(CommandError, match="recipe: must be the identifier"):
        call_command("results", "bundle", "0" * 64, str(tmp_path / "other"))
    with pytest.raises(CommandError, match="Only a released result"):
        call_command("results", "bundle", joint_recipe().identifier, str(tmp_path / "other"))


def test_bundle_for_auditors_is_for_accounts_that_read_the_log(client: Client) -> None:
    recipe = released(bundle="auditors")
    assert bundle_of(client, recipe).status_code == 401
    for account in (auditor(), analyst()):
        client.force_login(account)
        assert bundle_of(client, recipe).status_code == 200


@pytest.mark.parametrize("made", [joint_recipe, published_recipe])
def test_recipe_without_a_result_of_a_joint_key_has_no_bundle(made: Any, client: Client) -> None:
    assert bundle_of(client, made()).status_code == 404


def test_withheld_result_has_no_bundle(client: Client) -> None:
    assert bundle_of(client, released(bits=(1, 0), bad=4)).status_code == 404


def verdict(client: Client, recipe: Recipe, **members: Any) -> Any:
    address = reverse("api-verdicts", args=[recipe.identifier])
    return client.post(address, json.dumps(members), content_type="application/json")


def test_verdict_is_in_the_log_and_on_the_page(client: Client) -> None:
    recipe = released()
    page = reverse("recipe-verify", args=[recipe.identifier])
    assert verdict(client, recipe, by="Audit Ltd.", failed="").status_code in (401, 403)
    assert "No verdict of others was filed yet." in page_text(client.get(page))
    client.force_login(auditor())
    assert verdict(client, recipe, by="Audit Ltd.", failed="").status_code == 201
    assert verdict(client, recipe, by="Doubt Inc.", failed="interval").status_code == 201
    for members, field in (
        ({"by": "", "failed": ""}, "by"),
        ({"by": "a\nb", "failed": ""}, "by"),
        ({"by": "a" * 121, "failed": ""}, "by"),
        ({"by": "a", "failed": "everything"}, "failed"),
    ):
        refused = verdict(client, recipe, **members)
        assert refused.status_code == 400
        assert field in refused.content.decode()
    client.logout()
    text = page_text(client.get(page))
    assert "Audit Ltd.: all checks hold" in text
    assert "Doubt Inc.: interval fails" in text
    assert "python3 -m panprivacy.recompute bundle --policy policy" in text
    assert Entry.objects.filter(action="verdict_filed").count() == 2


def test_verdict_on_what_has_no_bundle_is_refused(client: Client) -> None:
    client.force_login(auditor())
    assert verdict(client, joint_recipe(), by="Audit Ltd.", failed="").status_code == 409


def test_account_corrects_its_verdict_once_and_leaves_room_for_others(client: Client) -> None:
    first, second = auditor(), analyst()
    recipe, other = released(), released()
    client.force_login(first)
    for failed in ("interval", ""):
        assert verdict(client, recipe, by="Audit Ltd.", failed=failed).status_code == 201
    # Another name is no other account.
    refused = verdict(client, recipe, by="Doubt Inc.", failed="")
    assert refused.status_code == 409
    assert "an account files at most 2 verdicts on one result" in refused.content.decode()
    assert verdict(client, other, by="Audit Ltd.", failed="").status_code == 201
    client.force_login(second)
    assert verdict(client, recipe, by="Doubt Inc.", failed="").status_code == 201


def test_no_account_files_more_than_the_most_of_a_recipe(client: Client) -> None:
    recipe = released()
    for number in range(MOST_VERDICTS):
        actor = User(username=f"auditor-{number // MOST_OF_AN_ACCOUNT}")
        verdict_file(recipe=recipe, by="Audit Ltd.", failed="", actor=actor)
    client.force_login(auditor())
    refused = verdict(client, recipe, by="Audit Ltd.", failed="")
    assert refused.status_code == 409
    assert "the log has 100 verdicts on this result already" in refused.content.decode()
