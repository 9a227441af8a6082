"""One report many times: 2,048 that were identical, under a nonce each, used to be accepted.

Now the ciphertexts of a report count once, as a whole, and nobody can block a report by sending parts of it.
This stops whoever does not even rerandomize, and no other: rerandomized copies look like everybody's reports,
which the last test shows.
"""

import secrets
from typing import Any

import pytest

from recipes.models import Recipe
from reports.models import CiphertextDigest, ReportNonce, StoredReports
from reports.operations import reports_submit
from tests.factories import fresh_nonce, published_recipe, report_of_count, report_of_values
from tests.scenes import finish

pytestmark = pytest.mark.django_db

COPIES = 2_048


def under_another_nonce(report: dict[str, Any]) -> dict[str, Any]:
    return {**report, "nonce": fresh_nonce()}


def refused(recipe: Recipe, reports: list[dict[str, Any]]) -> list[tuple[int, str]]:
    rejections = reports_submit(recipe=recipe, reports=reports, decode=lambda raw: raw)
    return [(rejection.index, rejection.reason) for rejection in rejections]


@pytest.mark.parametrize("in_a_batch", [1, 512])
def test_of_2048_identical_reports_one_counts(in_a_batch: int) -> None:
    recipe = published_recipe(cohort_size=10_000)
    report = report_of_count(recipe, 1)
    taken = 0
    for _ in range(COPIES // 512 if in_a_batch == 512 else 32):
        copies = [under_another_nonce(report) for _ in range(in_a_batch)]
        answered = refused(recipe, copies)
        assert {reason for _, reason in answered} <= {"duplicate_ciphertext"}
        taken += in_a_batch - len(answered)
    assert taken == 1
    assert sum(StoredReports.objects.values_list("count", flat=True)) == 1
    assert ReportNonce.objects.count() == CiphertextDigest.objects.count() == 1


def test_nobody_blocks_a_report_by_sending_parts_of_it_first() -> None:
    """Parts used to be refused in a second report: one of them, seen on the way, kept the device's out."""
    recipe = published_recipe(statistic="histogram", k=3)
    pending, junk = (report_of_values(recipe, [0, 1, 0, 0]) for _ in range(2))
    seen, own = pending["ciphertexts"], junk["ciphertexts"]
    attempts = [
        [*(seen[i] if i == place else own[i] for i in range(4))] for place in range(4)
    ]  # every ciphertext of it came before
    attempts += [[*reversed(seen)], [*seen[1:], seen[0]], [*seen[:3], own[3]]]
    sent = [{"nonce": fresh_nonce(), "ciphertexts": parts} for parts in attempts]
    assert refused(recipe, sent) == []
    assert refused(recipe, [pending]) == []
    # Sent as a whole before the device, it counts as the device meant it, once.
    late = report_of_values(recipe, [1, 0, 0, 0])
    assert refused(recipe, [under_another_nonce(late)]) == []
    assert refused(recipe, [late]) == [(0, "duplicate_ciphertext")]
    assert sum(StoredReports.objects.values_list("count", flat=True)) == len(attempts) + 2


def test_ciphertext_comes_once_in_a_report() -> None:
    recipe = published_recipe(statistic="histogram", k=3)
    report = report_of_values(recipe, [0, 1, 0, 0])
    twice = {**report, "ciphertexts": [*report["ciphertexts"][:3], report["ciphertexts"][0]]}
    assert refused(recipe, [twice]) == [(0, "duplicate_ciphertext")]
    # Nothing of a refused report is kept: its nonce may come.
    assert refused(recipe, [report]) == []


def test_report_that_is_sent_again_is_said_to_be_there_already() -> None:
    recipe = published_recipe()
    report = report_of_count(recipe, 1)
    assert refused(recipe, [report]) == []
    assert refused(recipe, [report, under_another_nonce(report)]) == [
        (0, "duplicate_nonce"),
        (1, "duplicate_ciphertext"),
    ]


def test_what_is_kept_of_a_report_is_bounded_and_goes_with_its_nonce() -> None:
    recipe = published_recipe(statistic="histogram", k=40, cohort_size=2)
    report, other = (report_of_values(recipe, [0] * 41) for _ in range(2))
    assert refused(recipe, [report, other]) == []
    assert CiphertextDigest.objects.count() == 2
    assert refused(recipe, [under_another_nonce(report)]) == [(0, "duplicate_ciphertext")]
    assert not any(
        bytes(digest.digest) in b"".join(report["ciphertexts"]) for digest in CiphertextDigest.objects.all()
    )
    finish(recipe)
    assert not CiphertextDigest.objects.exists()


def test_rerandomized_copies_count_since_nobody_can_tell_them() -> None:
    recipe = published_recipe()
    key = recipe.published.public_key
    copied = key.encrypt(1, secrets.SystemRandom())
    copies = [
        {"nonce": fresh_nonce(), "ciphertexts": [bytes(key.rerandomize(copied, secrets.SystemRandom()))]}
        for _ in range(20)
    ]
    assert refused(recipe, copies) == []
