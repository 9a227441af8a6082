"""A recipe of two servers with tokens, from its issuer to its release."""

import random

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from admission.operations import issuances_drive, issuances_take
from panprivacy.dap.basics import ReportError
from releases.operations import result_release
from tests.collections.admission.scene import FakeIssuer
from tests.collections.two_server import scene
from tests.collections.two_server.scene import sealed_report, settle, two_server_members, upload
from tests.page_text import page_text
from tests.tokens import issued_token
from trust_models.publishing import recipe_close, recipe_publish_file

pytestmark = pytest.mark.django_db


def test_reports_with_tokens_are_released_and_those_without_counted_by_their_reasons(client: Client) -> None:
    issuer, source = FakeIssuer(issued=5), random.Random(9578)
    recipe = recipe_publish_file(
        members=two_server_members(admission="token"),
        actor=None,
        partners=scene.partners(),
        admitting=issuer.admitting(),
    )
    tokens = [issued_token(recipe.published, source).encode() for _ in range(5)]
    good = [
        sealed_report(recipe, [bit], token=token) for bit, token in zip((1, 1, 1, 0, 0), tokens, strict=True)
    ]
    again = sealed_report(recipe, [1], token=tokens[0])
    bare = sealed_report(recipe, [1])
    refused = upload(recipe, [*good, bare, again])
    assert [status.error for status in refused] == [ReportError.INVALID_MESSAGE, ReportError.REPORT_REPLAYED]
    recipe = recipe_close(recipe=recipe, actor=None)
    now = timezone.now()
    issuances_drive(taken=issuances_take(now=now), now=now, transport=issuer)
    settle()
    release = result_release(recipe=recipe)
    assert release is not None
    expected = recipe.published.calibrated_statistic.estimate((3,), 5)
    assert (release.outcome, release.reports) == ("released", 5)
    assert tuple(release.values) == pytest.approx(expected.values)
    assert release.rejected == {"report_replayed": 1, "token_missing": 1}
    assert release.admission["issued"] == 5
    assert all(server["signature"] for server in release.servers)
    assert "It came without a token." in page_text(client.get(reverse("recipe", args=[recipe.identifier])))
