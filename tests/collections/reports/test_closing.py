"""A report that is acknowledged counts; one that comes after the closing is refused."""

import threading
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from recipes.models import Recipe
from reports import operations
from reports.models import ReportNonce, StoredReports
from reports.operations import RecipeNotOpenError, reports_submit
from storage import group_commit
from storage.group_commit import RowHeldError
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
    claim = operations.values_claim

    def slow_claim(*arguments: Any, **options: Any) -> Any:
        storing.set()
        assert may_finish.wait(PATIENCE)
        return claim(*arguments, **options)

    monkeypatch.setattr(operations, "values_claim", slow_claim)
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


@pytest.mark.django_db(transaction=True)
def test_reports_wait_for_nobody_who_holds_another_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """All reports of a process have one writer: where it waited, those of every recipe would."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    monkeypatch.setattr(group_commit, "HELD_SECONDS", 0.0)
    held, free = published_recipe(name="Held"), published_recipe(name="Free")
    submissions = [
        operations._read(recipe, [report_of_values(recipe, [1])], lambda raw: raw) for recipe in (held, free)
    ]
    holding, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Recipe.objects.select_for_update().get(pk=held.pk)
            holding.set()
            assert may_end.wait(PATIENCE)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    assert holding.wait(PATIENCE)
    try:
        with connection.cursor() as cursor:
            # Where it did wait, it fails instead of never ending.
            cursor.execute("SET lock_timeout = '1s'")
        refused, stored = operations.submissions_store(submissions)
        assert isinstance(refused, RowHeldError)
        assert stored == []
        with pytest.raises(RowHeldError):
            reports_submit(recipe=held, reports=[report_of_values(held, [1])], decode=lambda raw: raw)
    finally:
        may_end.set()
        holder.join(PATIENCE)
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 0")
    assert set(StoredReports.objects.values_list("recipe", flat=True)) == {free.pk}
    assert operations.submissions_store(submissions[:1]) == [[]]


@pytest.mark.django_db(transaction=True)
def test_reports_wait_for_a_lock_no_longer_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    monkeypatch.setattr(group_commit, "LOCK_SECONDS", 0.05)
    recipe = published_recipe()
    report = report_of_values(recipe, [1])
    claiming, may_end = threading.Event(), threading.Event()

    def claim() -> None:
        with transaction.atomic():
            assert reports_submit(recipe=recipe, reports=[report], decode=lambda raw: raw) == []
            claiming.set()
            may_end.wait(PATIENCE)
        connection.close()

    claimer = threading.Thread(target=claim)
    claimer.start()
    assert claiming.wait(PATIENCE)
    try:
        with pytest.raises(OperationalError, match="lock timeout"):
            reports_submit(recipe=recipe, reports=[report], decode=lambda raw: raw)
    finally:
        may_end.set()
        claimer.join(PATIENCE)
    (rejection,) = reports_submit(recipe=recipe, reports=[report], decode=lambda raw: raw)
    assert rejection.reason == "duplicate_nonce"
