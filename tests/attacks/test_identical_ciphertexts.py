"""One report many times, identical, under a nonce each.

The ciphertexts of a report count once, as a whole, and an attacker cannot block a report by sending parts
of it. This stops an attacker that does not even rerandomize, and no other: rerandomized copies look like
other reports, which the last test shows.
"""

import secrets
from typing import Any

import pytest

from recipes.models import Recipe
from reports.models import CiphertextDigest, ReportNonce, StoredReports
from tests.factories import fresh_nonce, published_recipe, report_of_count, report_of_values, submitted
from tests.scenes import finish

pytestmark = pytest.mark.django_db


def under_another_nonce(report: dict[str, Any]) -> dict[str, Any]:
    return {**report, "nonce": fresh_nonce()}


def refused(recipe: Recipe, reports: list[dict[str, Any]]) -> list[tuple[int, str]]:
    rejections = submitted(recipe, *reports)
    return [(rejection.index, rejection.reason) for rejection in rejections]


def test_of_many_identical_reports_one_counts() -> None:
    recipe = published_recipe(cohort_size=10_000)
    report = report_of_count(recipe, 1)
    refusals = []
    for _ in range(4):
        refusals += refused(recipe, [under_another_nonce(report) for _ in range(16)])
    assert [reason for _, reason in refusals] == ["duplicate_ciphertext"] * 63
    assert refused(recipe, [{**report, "nonce": ReportNonce.objects.get().nonce}]) == [(0, "duplicate_nonce")]
    assert sum(StoredReports.objects.values_list("count", flat=True)) == 1
    assert ReportNonce.objects.count() == CiphertextDigest.objects.count() == 1


def test_parts_of_a_report_that_come_first_do_not_block_it() -> None:
    """A refusal of parts in a second report would let one overheard part keep the device's report out."""
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


@pytest.mark.django_db(transaction=True)
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


def test_rerandomized_copies_count_as_other_reports() -> None:
    recipe = published_recipe()
    key = recipe.published.public_key
    copied = key.encrypt(1, secrets.SystemRandom())
    copies = [
        {"nonce": fresh_nonce(), "ciphertexts": [bytes(key.rerandomize(copied, secrets.SystemRandom()))]}
        for _ in range(20)
    ]
    assert refused(recipe, copies) == []
