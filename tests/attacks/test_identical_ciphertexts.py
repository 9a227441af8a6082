"""One ciphertext in many reports: 2,048 that were identical, under a nonce each, used to be accepted.

Now a ciphertext counts in one report, and once in it. This stops whoever does not even rerandomize, and no
other: rerandomized copies look like everybody's reports, which the last test shows.
"""

import secrets
from typing import Any

import pytest

from recipes.models import Recipe
from reports.copies import DIGESTS_PER_REPORT
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


def test_ciphertext_comes_in_no_second_report_and_not_twice_in_one() -> None:
    recipe = published_recipe(statistic="histogram", k=3)
    first, second = (report_of_values(recipe, [0, 1, 0, 0]) for _ in range(2))
    assert refused(recipe, [first]) == []
    mixed = {**second, "ciphertexts": [*second["ciphertexts"][:3], first["ciphertexts"][0]]}
    twice = {**second, "ciphertexts": [*second["ciphertexts"][:3], second["ciphertexts"][0]]}
    assert refused(recipe, [mixed, under_another_nonce(twice)]) == [
        (0, "duplicate_ciphertext"),
        (1, "duplicate_ciphertext"),
    ]
    # Nothing of a refused report is kept: its other ciphertexts may come, and its nonce.
    assert refused(recipe, [second]) == []
    # The other recipe knows nothing of them, but cannot read them either.
    assert ReportNonce.objects.count() == 2


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
    assert CiphertextDigest.objects.count() == 2 * DIGESTS_PER_REPORT
    # A copy of the whole is found whatever is kept.
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
