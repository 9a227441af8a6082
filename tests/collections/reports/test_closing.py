"""A report that is acknowledged counts; one that comes after the closing is refused."""

import threading
from typing import Any

import pytest
from django.db import connection

from recipes.models import Recipe
from reports import operations
from reports.models import ReportNonce, StoredReports
from reports.operations import RecipeNotOpenError, reports_submit
from tests.factories import published_recipe, report_of_values
from tests.patience import PATIENCE
from trust_models.publishing import recipe_close


@pytest.mark.django_db
def test_submit_is_refused_when_the_recipe_closes_between_the_first_look_and_the_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = published_recipe()
    read_report = operations.read_report

    def closing_meanwhile(*arguments: Any) -> Any:
        recipe_close(recipe=Recipe.objects.get(pk=recipe.pk), actor=None)
        return read_report(*arguments)

    monkeypatch.setattr(operations, "read_report", closing_meanwhile)
    with pytest.raises(RecipeNotOpenError):
        reports_submit(recipe=recipe, reports=[report_of_values(recipe, [1])], decode=lambda raw: raw)
    assert not StoredReports.objects.exists()
    assert not ReportNonce.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_closing_waits_for_a_submission_that_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_recipe()
    report = report_of_values(recipe, [1])
    storing, may_finish = threading.Event(), threading.Event()
    claim = operations._claim_nonces

    def slow_claim(*arguments: Any) -> Any:
        storing.set()
        assert may_finish.wait(PATIENCE)
        return claim(*arguments)

    monkeypatch.setattr(operations, "_claim_nonces", slow_claim)
    order: list[str] = []

    def submit() -> None:
        assert reports_submit(recipe=recipe, reports=[report], decode=lambda raw: raw) == []
        order.append("stored")
        connection.close()

    def close() -> None:
        recipe_close(recipe=recipe, actor=None)
        order.append("closed")
        # What the closing transaction may rely on: whatever was acknowledged is there.
        order.append(f"{StoredReports.objects.count()} rows")
        connection.close()

    submitting = threading.Thread(target=submit)
    submitting.start()
    assert storing.wait(PATIENCE)
    closing = threading.Thread(target=close)
    closing.start()
    closing.join(1)
    assert order == [], "closing must wait"
    may_finish.set()
    submitting.join(PATIENCE)
    closing.join(PATIENCE)
    assert sorted(order) == ["1 rows", "closed", "stored"]
