from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from aggregation.models import Chunk, SubAggregate
from reports.models import StoredReports
from tests.factories import published_recipe
from trust_models.publishing import recipe_close

TOKEN = "t" * 40


def scrape(client: Client) -> dict[str, float]:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {
        sample.name: sample.value
        for family in families
        for sample in family.samples
        if sample.name.startswith("panapp_")
    }


def test_metrics_in_production_without_a_token_do_not_exist(client: Client, settings: Any) -> None:
    settings.LOCAL, settings.METRICS_TOKEN = False, None
    assert client.get("/metrics").status_code == 404


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("header", [None, "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer é"])
def test_metrics_with_a_token_set_refuse_whoever_does_not_bear_it(
    client: Client, settings: Any, header: str | None, local: bool
) -> None:
    settings.LOCAL, settings.METRICS_TOKEN = local, TOKEN
    answer = client.get("/metrics", headers={} if header is None else {"Authorization": header})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert b"panapp_" not in answer.content


@pytest.mark.django_db
def test_metrics_are_served_to_the_bearer_of_the_token(client: Client, settings: Any) -> None:
    settings.LOCAL, settings.METRICS_TOKEN = False, TOKEN
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert b"panapp_recipes_open" in answer.content
    assert b"django_http_requests" in answer.content


@pytest.mark.django_db
def test_metrics_of_an_empty_installation_are_all_zero(client: Client) -> None:
    assert set(scrape(client).values()) == {0.0}


@pytest.mark.django_db
def test_metrics_sum_up_what_waits_and_what_fails(client: Client) -> None:
    open_recipe = published_recipe()
    closed = recipe_close(recipe=published_recipe(name="Another"), actor=None)
    StoredReports.objects.create(recipe=open_recipe, count=3, payload=b"")
    StoredReports.objects.create(recipe=closed, count=4, payload=b"")
    overdue = timezone.now() - timedelta(seconds=100)
    Chunk.objects.create(recipe=closed, count=4, attempts=4, send_after=overdue)
    later = timezone.now() + timedelta(hours=1)
    Chunk.objects.create(recipe=closed, count=4, attempts=3, send_after=later)
    SubAggregate.objects.create(recipe=closed, reports=5, total=[5])
    seen = scrape(client)
    assert seen["panapp_chunk_overdue_seconds"] == pytest.approx(100, abs=60)
    del seen["panapp_chunk_overdue_seconds"]
    # Publishing and closing are entries that nobody signed yet.
    assert seen.pop("panapp_log_overdue_seconds") > 0
    assert seen == {
        "panapp_recipes_open": 1,
        "panapp_recipes_closed_unreleased": 1,
        "panapp_reports_waiting": 7,
        "panapp_reports_summed": 5,
        "panapp_chunks": 2,
        "panapp_chunks_failing": 1,
        "panapp_closing_overdue_seconds": 0,
        "panapp_task_reports_waiting": 0,
        "panapp_helper_requests": 0,
        "panapp_helper_requests_failing": 0,
        "panapp_helper_failing_seconds": 0,
        "panapp_helper_request_overdue_seconds": 0,
        "panapp_intakes": 0,
        "panapp_shuffler_failing_seconds": 0,
        "panapp_tasks_running": 0,
        "panapp_task_reports_received": 0,
        "panapp_clock_ahead_seconds": 0,
        "panapp_clock_skew_seconds": 0,
        "panapp_clock_doubted": 0,
        "panapp_log_entries": 0,
        "panapp_log_stopped": 0,
        "panapp_log_witnesses_failing": 0,
        "panapp_log_witness_failing_seconds": 0,
        "panapp_log_forks": 0,
    }


@pytest.mark.django_db
def test_metrics_name_no_recipe(client: Client) -> None:
    recipe = published_recipe()
    client.get(f"/api/v1/recipes/{recipe.identifier}/")
    answer = client.get("/metrics")
    assert str(recipe.identifier).encode() not in answer.content
