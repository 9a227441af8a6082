"""What both stores of reports promise: each counts once, whatever is sent twice and whatever crashes."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import pytest
from django.db import OperationalError, connection, models

from publishing.publication import recipe_close
from recipes.models import Recipe, RecipeKey
from reports import objects, operations, rows
from reports.models import (
    CiphertextDigest,
    RejectionCount,
    ReportNonce,
    ReportSegment,
    SortedReports,
    StoredReports,
)
from reports.objects import ReportObjects
from reports.operations import report_store_of, report_store_set, submission_read
from reports.rows import ReportRows
from reports.store import RecipeNotOpenError, ReportsMissingError, ReportStore, Step, Submission, Taken
from results.aggregation.models import Chunk, SubAggregate
from results.aggregation.operations import chunk_process, chunks_plan, progress_of
from results.operations import result_withhold
from storage import group_commit
from storage.group_commit import RowHeldError
from tests.concurrency import Pause, in_thread, open_transaction, short_lock_timeout
from tests.factories import as_json, published_recipe, report_of_values, submitted
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db

one_of_many_writers = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has one writer at a time"
)

EVERYTHING = (StoredReports, ReportNonce, CiphertextDigest, ReportSegment, SortedReports)


def read(recipe: Recipe, *values: int) -> Submission:
    reports = [as_json(report_of_values(recipe, [value])) for value in values]
    return submission_read(report_store_of(recipe), reports)


def closed_with(*values: int, **changes: Any) -> Recipe:
    """A closed recipe with these reports."""
    recipe = published_recipe(**{"cohort_size": 2, **changes})
    for value in values:
        assert submitted(recipe, report_of_values(recipe, [value])) == []
    return recipe_close(recipe=recipe, actor=None)


def planned(recipe: Recipe) -> list[uuid.UUID]:
    """Chunks, once what waits is planned."""
    chunks_plan(recipe=Recipe.objects.get(pk=recipe.pk))
    return list(Chunk.objects.filter(recipe=recipe).order_by("shard").values_list("pk", flat=True))


def run_out(recipe: Recipe, process: Callable[[uuid.UUID], object]) -> None:
    """Have workers process every chunk there is, and that comes of them."""
    while chunks := planned(recipe):
        for chunk in chunks:
            process(chunk)


def process(chunk: uuid.UUID) -> None:
    chunk_process(chunk=chunk)


def sum_of(recipe: Recipe) -> tuple[list[int], int]:
    row = SubAggregate.objects.get(recipe=recipe)
    return row.total, row.reports


class StoreContract:
    """What every store does."""

    store: ClassVar[type[ReportStore]]
    stored: ClassVar[type[models.Model]]
    """What a submission leaves."""
    steps: ClassVar[set[Step]]
    store_many: ClassVar[Callable[..., list[Any]]]

    def test_a_recipe_keeps_the_store_it_was_published_with(self, settings: Any, tmp_path: Any) -> None:
        recipe = published_recipe()
        here = settings.OBJECT_STORE
        settings.OBJECT_STORE = "" if here else (tmp_path / "other").as_uri()
        assert not isinstance(report_store_of(published_recipe(name="Other")), self.store)
        settings.OBJECT_STORE = here
        assert isinstance(report_store_of(recipe), self.store)
        assert isinstance(report_store_set(recipe), self.store)

    def test_reports_that_were_submitted_wait_for_work(self) -> None:
        recipe = published_recipe(cohort_size=2)
        for value in (1, 0, 1):
            assert submitted(recipe, report_of_values(recipe, [value])) == []
        assert report_store_of(recipe).unplanned() == 3
        planned(recipe_close(recipe=recipe, actor=None))
        assert (report_store_of(recipe).unplanned(), progress_of(recipe).waiting) == (0, 3)

    def test_a_group_has_reports_of_many_recipes_and_outcomes_in_order(self) -> None:
        one, other, closed = (published_recipe(name=name) for name in ("One", "Other", "Closed"))
        submissions = [read(one, 1, 1), read(closed, 1), read(other, 0), read(one, 1)]
        submissions[0] = replace(submissions[0], bad=[operations.Rejection(7, "malformed_report", "Bad.")])
        recipe_close(recipe=Recipe.objects.get(pk=closed.pk), actor=None)
        outcomes = type(self).store_many(submissions)
        assert [len(outcome) for outcome in (outcomes[0], *outcomes[2:])] == [1, 0, 0]
        assert isinstance(outcomes[1], RecipeNotOpenError)
        assert [report_store_of(recipe).unplanned() for recipe in (one, other, closed)] == [3, 1, 0]
        assert list(RejectionCount.objects.values_list("recipe", "reason", "count")) == [
            (one.pk, "malformed_report", 1)
        ]

    def test_submit_is_refused_when_the_recipe_closes_before_the_lock(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recipe = published_recipe()
        read_report = operations.read_report

        def closing_meanwhile(*arguments: Any) -> Any:
            recipe_close(recipe=Recipe.objects.get(pk=recipe.pk), actor=None)
            return read_report(*arguments)

        monkeypatch.setattr(operations, "read_report", closing_meanwhile)
        with pytest.raises(RecipeNotOpenError):
            submitted(recipe, report_of_values(recipe, [1]))
        assert not any(model.objects.exists() for model in EVERYTHING)

    @pytest.mark.django_db(transaction=True)
    def test_closing_waits_for_a_submission_that_has_begun(self, monkeypatch: pytest.MonkeyPatch) -> None:
        recipe = published_recipe()
        report = report_of_values(recipe, [1])
        storing = self.paused_while_storing(monkeypatch)
        order: list[str] = []

        def submit() -> None:
            assert submitted(recipe, report) == []
            order.append("stored")

        def close() -> None:
            recipe_close(recipe=recipe, actor=None)
            # What the closing transaction may rely on: whatever was acknowledged is there.
            order.append(f"closed with {self.stored.objects.count()}")

        submitting = in_thread(submit)
        storing.reached()
        closing = in_thread(close)
        closing.join(1)
        assert order == [], "closing must wait"
        storing.go_on()
        submitting.join(PATIENCE)
        closing.join(PATIENCE)
        assert sorted(order) == ["closed with 1", "stored"]

    def paused_while_storing(self, monkeypatch: pytest.MonkeyPatch) -> Pause:
        """Holds a submission in its transaction."""
        raise NotImplementedError

    @one_of_many_writers
    @pytest.mark.django_db(transaction=True)
    def test_reports_do_not_wait_for_a_lock_on_another_recipe(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """All reports of a process have one writer: if it waited, those of every recipe would."""
        monkeypatch.setattr(group_commit, "HELD_SECONDS", 0.0)
        held, free = published_recipe(name="Held"), published_recipe(name="Free")
        submissions = [read(recipe, 1) for recipe in (held, free)]
        lock = partial(Recipe.objects.select_for_update().get, pk=held.pk)
        with open_transaction(lock), short_lock_timeout():
            refused, stored = type(self).store_many(submissions)
            assert isinstance(refused, RowHeldError)
            assert stored == []
            with pytest.raises(RowHeldError):
                submitted(held, report_of_values(held, [1]))
        assert set(self.stored.objects.values_list("recipe", flat=True)) == {free.pk}
        assert type(self).store_many(submissions[:1]) == [[]]

    def test_below_the_cohort_size_no_work_is_planned(self) -> None:
        recipe = closed_with(1, 1, 1, 1, cohort_size=5)
        assert planned(recipe) == []
        assert progress_of(recipe).received == 4

    def test_work_that_is_delivered_twice_and_late_counts_once(self) -> None:
        recipe = closed_with(*[1] * 6, 0, 0, 0)
        done: list[uuid.UUID] = []
        steps = set()

        def again(chunk: uuid.UUID) -> None:
            steps.add(Step(Chunk.objects.get(pk=chunk).step))
            done.append(chunk)
            for every in done:
                process(every)

        run_out(recipe, again)
        assert steps == self.steps
        assert sum_of(recipe) == ([6], 9)
        assert not self.stored.objects.exists()

    def test_work_that_two_workers_do_at_once_counts_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        recipe = closed_with(*[1] * 6, 0, 0, 0)
        take, overtaken = self.store.take, set()

        def taking(store: ReportStore, work: Any, key: Any) -> Any:
            taken = take(store, work, key)
            if work.id not in overtaken:
                overtaken.add(work.id)
                process(work.id)  # another worker finishes first
            return taken

        monkeypatch.setattr(self.store, "take", taking)
        run_out(recipe, process)
        assert len(overtaken) >= len(self.steps)
        assert sum_of(recipe) == ([6], 9)

    @pytest.mark.parametrize("dies", ["before its work", "with it done", "before its commit"])
    def test_a_worker_that_dies_leaves_its_work_to_the_next(
        self, dies: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recipe = closed_with(*[1] * 6, 0, 0, 0)
        take = self.store.take

        def dying(store: ReportStore, work: Any, key: Any) -> Any:
            if dies == "before its work":
                raise KeyboardInterrupt
            taken = take(store, work, key)
            if dies == "with it done":
                raise KeyboardInterrupt

            def end() -> Any:
                taken.end()
                raise KeyboardInterrupt

            return Taken(end, taken.total, taken.reports)

        def die_and_do(chunk: uuid.UUID) -> None:
            before = progress_of(recipe)
            with monkeypatch.context() as patched:
                patched.setattr(self.store, "take", dying)
                with pytest.raises(KeyboardInterrupt):
                    process(chunk)
            assert progress_of(recipe) == before
            process(chunk)

        run_out(recipe, die_and_do)
        assert sum_of(recipe) == ([6], 9)

    @pytest.mark.parametrize("left", [2, 0])
    def test_work_on_missing_rows_adds_nothing_and_ends_in_an_error(self, left: int) -> None:
        """As after a restore from a dump that began before a result was withheld: their absence must not pass
        for zeros, nor for a chunk that another worker has finished."""
        recipe = closed_with(1, 1, 1)
        (chunk,) = planned(recipe)
        rows = self.stored.objects.order_by("pk")
        self.stored.objects.filter(pk__in=rows[left:].values("pk")).delete()
        with pytest.raises(ReportsMissingError, match=f"{left} of 3 reports"):
            process(chunk)
        assert (sum_of(recipe), self.stored.objects.count()) == (([0], 0), left)
        assert Chunk.objects.filter(pk=chunk).exists()

    @pytest.mark.parametrize(
        "changes",
        [{}, {"statistic": "histogram", "k": 3}, {"statistic": "mean", "k": 3, "guarantee": "local"}],
        ids=["count", "histogram", "mean"],
    )
    def test_invalid_reports_count_with_the_same_values_at_every_attempt(
        self, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Or two sums, one of them in what a database keeps of an attempt that died, would tell that a report
        was invalid. Had the attempts values of their own, 60 bits or more would agree with probability
        2^−60."""
        recipe = published_recipe(cohort_size=2, **changes)
        statistic = recipe.published.calibrated_statistic
        reports = [report_of_values(recipe, [10**9] * statistic.report_ciphertexts) for _ in range(60)]
        assert submitted(recipe, *reports) == []
        recipe_close(recipe=recipe, actor=None)
        take, sums, drawn = self.store.take, [], []
        random_values = type(statistic).random_values

        def noted(*arguments: Any) -> Any:
            drawn.append(random_values(*arguments))
            return drawn[-1]

        def twice(store: ReportStore, work: Any, key: Any) -> Any:
            before = len(drawn)
            first, second = (take(store, work, key) for _ in range(2))
            assert list(first.total) == list(second.total)
            half = (before + len(drawn)) // 2
            assert drawn[before:half] == drawn[half:]
            if first.total:
                sums.append(first.total)
            return second

        monkeypatch.setattr(type(statistic), "random_values", noted)
        monkeypatch.setattr(self.store, "take", twice)
        run_out(recipe, process)
        total = [sum(column) for column in zip(*sums, strict=True)]
        assert sum_of(recipe) == (total, 60)
        assert len(drawn) == 120
        assert len(set(drawn)) > 1

    def test_work_whose_key_is_gone_is_not_done(self) -> None:
        """The result came out meanwhile."""
        recipe = closed_with(1, 1)
        while not {Step.SUM, Step.SHARD} & set(
            map(Step, Chunk.objects.filter(pk__in=planned(recipe)).values_list("step", flat=True))
        ):
            for chunk in planned(recipe):
                process(chunk)
        (chunk,) = planned(recipe)
        RecipeKey.objects.filter(recipe=recipe).delete()
        process(chunk)
        assert sum_of(recipe) == ([0], 0)

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("done", [False, True])
    def test_the_end_leaves_nothing_of_the_recipe_and_all_of_others(self, done: bool) -> None:
        other = published_recipe(name="Other")
        assert submitted(other, report_of_values(other, [1])) == []
        recipe = closed_with(1, 0, 1)
        if done:
            run_out(recipe, process)
        result_withhold(recipe=recipe, reason="it takes too long", actor=None)
        self.store.upkeep()
        left = [model.objects.filter(recipe=recipe).count() for model in EVERYTHING]
        assert left == [0] * len(EVERYTHING)
        assert report_store_of(other).unplanned() == 1


class TestRows(StoreContract):
    store = ReportRows
    stored = StoredReports
    steps: ClassVar = {Step.SUM}
    store_many = staticmethod(rows.submissions_store)

    def paused_while_storing(self, monkeypatch: pytest.MonkeyPatch) -> Pause:
        return Pause(monkeypatch, rows, "values_claim")


@pytest.mark.usefixtures("report_store", "several_shards")
class TestObjects(StoreContract):
    store = ReportObjects
    stored = ReportSegment
    steps: ClassVar = {Step.SORT, Step.SEAL, Step.SHARD}
    store_many = staticmethod(objects.segments_store)

    def paused_while_storing(self, monkeypatch: pytest.MonkeyPatch) -> Pause:
        return Pause(monkeypatch, ReportSegment.objects, "bulk_create")


@one_of_many_writers
@pytest.mark.django_db(transaction=True)
def test_reports_wait_for_a_lock_for_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "LOCK_SECONDS", 0.05)
    recipe = published_recipe()
    report = report_of_values(recipe, [1])
    with open_transaction(lambda: submitted(recipe, report)):
        with pytest.raises(OperationalError, match="lock timeout"):
            submitted(recipe, report)
    (rejection,) = submitted(recipe, report)
    assert rejection.reason == "duplicate_nonce"
