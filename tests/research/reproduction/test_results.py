"""Every number of the papers again; what is stored, what is said of it, and what errata.md says."""

import re
from pathlib import Path

import pytest

from research import stored_document
from research.reproduction import histogram_errors as errors
from research.reproduction import results, samplable_anonymous_aggregation
from research.reproduction.histogram_errors import Setting
from research.reproduction.sampled_gaussian import moments_accountant_noise, noise_multiplier
from research.statements import about, rounds_to

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def computed():
    """Claims and figures; the latter take most of the time."""
    return results.compute(lambda text: None)


@pytest.fixture(scope="module")
def claims():
    return tuple(results.compute_claims())


def test_every_statement_about_a_printed_value_is_as_we_say(claims):
    assert [claim for claim in claims if not claim.as_expected] == []
    for claim in claims:
        # Unknown, agreeing and differing are told apart, and a difference has a reason.
        assert (claim.agrees is None) == (claim.expected is None)
        assert claim.why or claim.agrees is not False
        assert claim.method


def test_stored_claims_are_those_that_are_computed(claims):
    now, stored = results.document_of(claims, ()), results.committed()
    assert stored_document.differences(stored["claims"], now["claims"]) == [], (
        "run `manage.py reproduce --write`"
    )


@pytest.mark.long
def test_stored_figures_are_those_that_are_computed(computed):
    now, stored = results.document_of(*computed), results.committed()
    assert stored_document.differences(stored["figures"], now["figures"]) == [], (
        "run `manage.py reproduce --write`"
    )


REFERENCE = {
    ("Example 4", "2022"): 0.60526,
    ("Example 4", "2021"): 0.89391,
    ("Example 4", "two-option"): 0.48567,
    ("Example 5", "exact (sampled Gaussian)"): 0.026276,
    ("Example 5", "privacy loss distribution"): 1.0204,
    ("Example 5", "moments"): 1.0826,
    ("Section 3.1", "σ for ε = 1 over T = 1,000 tasks, q = 0.01 privacy loss"): 1.563,
    ("Section 3.1", "σ for ε = 1 over T = 1,000 tasks, q = 0.01 Rényi"): 1.660,
    ("Section 3.1, Figure 2", "NONPRIV"): 1e-4,
    ("Section 3.1, Figure 2", "of AGG"): 1.795e-2,
    ("Section 3.1, Figure 2", "SAMPAGG"): 3.442e-4,
    ("Theorem 7", "n = 10,000 exact"): 5.68900,
    ("Theorem 7", "n = 1,000, ε₀ = 1 exact"): 0.12661,
    ("Theorem 7", "n = 1,000, ε₀ = 1 Feldman"): 0.14867,
    ("Theorem 7", "n = 10,000, ε₀ = 2 exact"): 0.08702,
    ("Theorem 7", "n = 10,000, ε₀ = 2 Feldman"): 0.11440,
    ("Theorem 13", "smallest scale"): 0.47383,
}


@pytest.mark.parametrize(("place", "words"), REFERENCE)
def test_number_is_the_one_of_an_independent_computation(claims, place, words):
    found = next(c for c in claims if c.place == place and words in f"{c.quantity} {c.method}")
    assert found.value == pytest.approx(REFERENCE[place, words], rel=5e-4)


def test_stored_figures_can_be_shown_and_privacy_costs_and_sampling_gains():
    figures = results.committed()["figures"]
    assert [figure["key"] for figure in figures] == [
        *(f"saa-figure-{number}" for number in (1, 2, 3)),
        "saa-measured",
        "saa-measured-rounds",
        *(f"saa-figure-{number}" for number in (5, 6, 7, 8)),
        "lpp-theorem-7",
        "lpp-theorem-13",
    ]
    for figure in figures:
        assert figure["caption"]
        assert figure["choices"]
        for panel in figure["panels"]:
            assert panel["x"] == sorted(panel["x"])
            lines = {line["name"]: line["y"] for line in panel["series"]}
            for y in lines.values():
                assert len(y) == len(panel["x"])
                assert min(value for value in y if value is not None) > 0, "the axes are logarithmic"
            if "SAMPAGG" in lines:
                best = lines.get("NONPRIVIMPSAMP", lines.get("NONPRIV"))
                for baseline, sampled, aggregated in zip(best, lines["SAMPAGG"], lines["AGG"], strict=True):
                    assert baseline < sampled <= aggregated * (1 + 1e-6), (figure["key"], panel["title"])


# The formulas of the figures -----------------------------------------------------


def test_participations_are_counted_in_integers():
    assert Setting(1_000_000, 10_000, 2, 1_000).participations == 10
    assert Setting(1_000_000, 10_001, 2, 1_000).participations == 11
    assert Setting(1_000_000, 1, 2, 1).participations == 1


def test_importance_sampling_takes_half_its_reports_from_rare_values():
    setting = Setting(population=1_000_000, reports=10_000, buckets=100, tasks=1, share=0.01)
    rare = setting.share * setting.population * setting.targeted_rate
    default = (1 - setting.share) * setting.population * setting.reports / (2 * setting.population)
    assert rare == pytest.approx(5_000)
    assert rare + default == pytest.approx(10_000, rel=0.01)
    # Beyond M = 2γN every rare value is in.
    assert Setting(1_000_000, 20_001, 100, 1, 0.01).targeted_rate == 1


def test_errors_of_the_sparse_histogram_are_those_of_a_simulated_estimate():
    # E Σ (p̃_i − p_i)² by summing the exact variances of Poisson-like counts, written out here once more.
    setting = Setting(population=10_000, reports=400, buckets=5, tasks=1, share=0.1)
    shares, sigma = [0.04, 0.03, 0.02, 0.01], 2.5
    rate = 400 / (2 * 0.1 * 10_000)
    by_hand = sum(p * 10_000 * rate + sigma**2 for p in shares) / (10_000 * rate) ** 2
    assert errors.sparse_sampled(setting, sigma) == pytest.approx(by_hand)
    by_hand = sum(p * 400 + sigma**2 for p in shares) / 400**2
    assert errors.sparse_aggregated(setting, sigma) == pytest.approx(by_hand)
    assert errors.sparse_targeted(setting) == pytest.approx(2 * 0.1**2 / 400)
    assert errors.sparse_uniform(setting) == pytest.approx(0.1 / 400)


def test_noise_multiplier_is_below_that_of_the_named_accountant():
    from panprivacy.accounting.gaussian import Gaussian

    sigma = noise_multiplier(0.01, 1_000, 1.0, 1e-6)
    assert Gaussian(sigma=sigma * 1.00001, sampling_rate=0.01, rounds=1_000).delta(1.0) <= 1e-6
    assert Gaussian(sigma=sigma * 0.999, sampling_rate=0.01, rounds=1_000).delta(1.0) > 1e-6
    assert sigma < moments_accountant_noise(0.01, 1_000, 1.0, 1e-6)
    # Without sampling T sums are one.
    assert noise_multiplier(1.0, 100, 1.0, 1e-6) == pytest.approx(10 * noise_multiplier(1.0, 1, 1.0, 1e-6))


# The machinery -------------------------------------------------------------------


@pytest.mark.parametrize(("computed_value", "printed", "agrees"), [
    (0.6052, "0.61", True), (0.604, "0.61", False), (0.615, "0.61", True), (1.0204, "0.8", False),
    (5.1003, "5.1", True), (1.4, "1", True), (1.6, "1", False),
])  # fmt: skip
def test_printed_value_is_compared_at_its_own_digits_and_about_at_a_tenth(computed_value, printed, agrees):
    assert rounds_to(computed_value, printed) is agrees
    assert about(1.09, 1)
    assert not about(1.2, 1)


def test_every_difference_from_saa_stands_in_the_errata_with_a_test():
    errata = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    defined = re.compile(r"^ *def (test_\w+)\(", re.MULTILINE)
    named = set(re.findall(r"`(test_\w+)`", errata))
    assert named
    everywhere = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert named <= {name for text in everywhere for name in defined.findall(text)}
    of_the_numbers = (Path(__file__).parent / "test_errata.py").read_text(encoding="utf-8")
    assert set(defined.findall(of_the_numbers)) <= named, "errata.md does not name it"
    places = {
        claim["place"].split(",")[0]
        for claim in results.committed()["claims"]
        if claim["agrees"] is False and claim["paper"] == samplable_anonymous_aggregation.PAPER
    }
    for place in places:
        short = place.removeprefix("Section ").removeprefix("Appendix ")
        assert re.search(rf"^\| SAA [^|]*\b{re.escape(short)}\b", errata, re.MULTILINE), place
