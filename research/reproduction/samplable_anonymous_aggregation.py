"""SAA: Examples 1 and 3 to 6, section 3.1, section 4, and Figures 1 to 3 and 5 to 8.

Talwar et al., *Samplable Anonymous Aggregation for Private Federated Data Analysis* (July 2024).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import scipy

from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import require_delta
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampling import amplified_epsilon
from panprivacy.accounting.shuffling import ShuffledRandomizedResponse, ShuffledReports
from research.reproduction import histogram_errors as errors
from research.reproduction.histogram_errors import Setting
from research.reproduction.measured import BUCKETS as BUCKETS_MEASURED
from research.reproduction.measured import REPORTS as MEASURED
from research.reproduction.measured import Point
from research.reproduction.measured_rounds import POINTS, Collections
from research.reproduction.sampled_gaussian import (
    moments_accountant_noise,
    noise_multiplier,
    renyi_divergence_of_order_2,
    renyi_epsilon,
)
from research.statements import Figure, Line, Panel, Paper, Role, Statement, compared

PAPER = Paper.SAMPLABLE_ANONYMOUS_AGGREGATION

BUDGET = (1.0, 1e-6)
"""(ε, δ) of section 3.1 and appendix B, for all T tasks together."""

POPULATION = 1_000_000
"""N of the figures. Their labels are not in the text; Example 6 has this population."""

BUCKETS = (1_000, 10_000, 100_000)
"""K, from left to right. The text names the ends."""

TASKS = (1, 10, 100, 1_000)
"""T, from top to bottom. The text names the ends."""

REPORTS = (*(factor * 10**power for power in (3, 4, 5) for factor in (1, 2, 5)), POPULATION)
"""M, along the axis. The text has "a large range"."""

MEASURED_ROUNDS = Collections(devices=14_000, cohort_size=200, seed=5)
"""Those of Example 5 that are measured."""

_ADD_REMOVE, _REPLACE = Relation.ADD_REMOVE, Relation.REPLACE


def claims() -> Iterator[Statement]:
    """Every number, in the order of the paper. Takes some seconds in all."""
    for part in (_example_1, _example_3, _example_4, _example_5, _example_6):
        yield from part()
    for part in (_section_3, _section_3_1, _section_4, _appendix_b):
        yield from part()


# Examples ------------------------------------------------------------------------


def _example_1() -> Iterator[Statement]:
    sigma, rate, order = 5.1, 0.02, 2
    printed = rate**2 * order / (2 * sigma**2)
    yield compared(
        "Rényi divergence of order 2 of one sampled Gaussian sum, σ = 5.1, q = 0.02, as a multiple "
        "of q²α/(2σ²)",
        "at most 1",
        renyi_divergence_of_order_2(sigma, rate) / printed,
        "exact: ln(1 + q²(exp(1/σ²) − 1))",
        "q²α/(2σ²) is only the limit for large σ. For every q < 1 the divergence is larger: "
        "ln(1 + q²(exp(1/σ²) − 1)) > q²/σ² at α = 2. As a bound it needs a larger constant.",
        expected=False,
        place="Example 1",
        relation=_ADD_REMOVE,
    )


def _example_3() -> Iterator[Statement]:
    delta = 1e-8
    claim = partial(compared, place="Example 3", relation=_ADD_REMOVE, delta=delta)
    yield claim(
        "ε of a Gaussian sum, σ = 7, sensitivity 1",
        "at most 1",
        math.sqrt(2 * math.log(1.25 / delta)) / 7,
        "√(2 ln(1.25/δ))/σ, the printed formula (valid for ε < 1)",
        "σ = 6.11 would do by the same formula.",
    )
    yield claim(
        "smallest σ of a Gaussian sum with ε = 1, sensitivity 1",
        "5.1",
        noise_multiplier(1.0, 1, 1.0, delta),
        "exact (Balle & Wang 2018)",
    )
    yield claim(
        "ε of a Gaussian sum, σ = 5.1, sensitivity 1",
        "at most 1",
        Gaussian(sigma=5.1).epsilon(delta),
        "exact (Balle & Wang 2018)",
        "σ was rounded down: the guarantee is missed by 0.006%. σ = 5.1004 keeps it.",
        expected=False,
    )


def _example_4() -> Iterator[Statement]:
    n, epsilon0, delta = 10_000, 4.0, 1e-10
    claim = partial(compared, place="Example 4", relation=_REPLACE, delta=delta)
    case = "ε of 10,000 shuffled reports, ε₀ = 4"
    yield claim(
        case,
        "0.61",
        ShuffledRandomizedResponse(n=n, epsilon0=epsilon0).epsilon(delta),
        "Feldman, McMillan & Talwar 2022, numerical",
        "For randomized response, and others that decompose like it: the authors' erratum takes the bound "
        "back for “any ε₀-local DP mechanism”, as the example has it.",
    )
    yield claim(
        case,
        "0.61",
        ShuffledReports(n=n, epsilon0=epsilon0).epsilon(delta),
        "Feldman, McMillan & Talwar 2021, numerical: the source that the example cites",
        "0.61 comes from the authors' later paper (2022), and so does the closed form in footnote 3. The "
        "cited bound gives more, and it is the one that holds for any randomizer that is ε₀-private under "
        "replacement. (The paper's Definition 2.4 asks for a reference distribution instead, which allows "
        "up to 2ε₀.)",
        expected=False,
    )
    yield claim(
        "largest ε₀ for which the closed form is proved, n = 10,000",
        "at least 4",
        largest_epsilon0_2022(n=n, delta=delta),
        "ln(n/(8 ln(2/δ)) − 1), the condition of Feldman, McMillan & Talwar 2022",
        "The footnote leaves the condition out; at the example's own parameters it is not met. "
        "The numerical bound needs no such condition. (There, it would give ε = 1.11.)",
        expected=False,
        place="Example 4, footnote 3",
    )
    yield claim(
        "ε of the sum of 10,000 two-option randomized responses, ε₀ = 4",
        "at most 0.61",
        RandomizedResponseSum(n=n, epsilon0=epsilon0).epsilon(delta),
        "exact sum over outcomes, for the worst assignment of the other bits",
        "Of bits, shuffling shows their sum and nothing else; that can be computed.",
    )
    in_either_relation = {
        _ADD_REMOVE: "This is the relation in which Example 2 calls RAPPOR ε₀-private.",
        _REPLACE: "Replacing a value moves two coordinates: RAPPOR with this flip probability is 2ε₀-private "
        "under replacement, so that a bound for ε₀-private randomizers does not cover it.",
    }
    for relation, why in in_either_relation.items():
        yield claim(
            "ε of the sum of 10,000 RAPPOR reports, flip probability 1/(e⁴ + 1)",
            "at most 0.61",
            # The coordinates in which two values do not differ carry nothing, so that K does not matter.
            OneHotSum(n=n, k=10, epsilon0=epsilon0, relation=relation).epsilon(delta),
            "exact sum over outcomes, in the worst case of the other values",
            why,
            expected=relation is _ADD_REMOVE,
            relation=relation,
        )


def largest_epsilon0_2022(*, n: int, delta: float) -> float:
    """ln(n/(8·ln(2/δ)) − 1), up to which FMT 2022, Theorem 3.2 is proved; 0 if it nowhere is."""
    require_delta(delta)
    growth = n / (8 * math.log(2 / delta)) - 1
    return math.log(growth) if growth > 1 else 0.0


def _example_5() -> Iterator[Statement]:
    sigma, rate, rounds, delta = 5.1, 0.02, 2_500, 1e-8
    one = Gaussian(sigma=sigma, sampling_rate=rate).epsilon(delta)
    every = Gaussian(sigma=sigma, sampling_rate=rate, rounds=rounds)
    total = every.epsilon(delta)
    claim = partial(compared, place="Example 5", relation=_ADD_REMOVE, delta=delta)
    yield claim(
        "ε of one round, σ = 5.1, q = 0.02",
        "0.034",
        amplified_epsilon(Gaussian(sigma=sigma).epsilon(delta), rate),
        "ln(1 + q(e^ε − 1)), Theorem 4, from the exact ε without sampling",
        "Theorem 4 gives it at δ = 2·10⁻¹⁰ already.",
    )
    yield claim("ε of one round, σ = 5.1, q = 0.02", "at most 0.034", one, "exact (sampled Gaussian)")
    yield claim(
        "ε of one round, σ = 5.1, q = 0.02, as a multiple of q√(2 ln(1.25/δ))/σ",
        "≈ 1",
        one / (rate * math.sqrt(2 * math.log(1.25 / delta)) / sigma),
        "exact (sampled Gaussian)",
        "An approximation, and no bound: the exact ε is larger.",
    )
    case = "ε of 2,500 rounds, σ = 5.1, q = 0.02"
    yield claim(
        case,
        "0.8",
        total,
        "privacy loss distribution",
        "No accountant that we tried gives 0.8, and a tight one cannot give less than this.",
        expected=False,
    )
    yield claim(
        case,
        "0.8",
        renyi_epsilon(every, delta),
        "Rényi divergences, the “moments accountant” that the example names",
        "The accountant that is named gives more than the tight one, as it must.",
        expected=False,
    )
    yield claim(
        case,
        "≈ 1",
        total,
        "privacy loss distribution",
        "The introduction cites Example 5 with this value; the example itself prints 0.8.",
        place="Section 1",
    )
    yield claim(
        "ε of 2,500 rounds without sampling, σ = 5.1",
        "above 100",
        Gaussian(sigma=sigma, rounds=rounds).epsilon(delta),
        "exact: one Gaussian sum with σ/√2500",
    )
    yield claim(
        "ε of the 50 rounds that one user takes part in on average, σ = 5.1",
        "8.3",
        Gaussian(sigma=sigma, rounds=50).epsilon(delta),
        "exact: one Gaussian sum with σ/√50",
        "Of users who toss a coin in each round, about half take part in more than 50 rounds, and pay more.",
    )


def _example_6() -> Iterator[Statement]:
    rate, delta = 0.02, 1e-10
    base = ShuffledRandomizedResponse(n=10_000, epsilon0=4.0)
    yield compared(
        "ε of Example 4 with q = 0.02 of 1,000,000 clients",
        "below 0.02",
        math.log1p(rate * math.expm1(base.epsilon(delta / rate))),
        "Theorem 4's formula at base δ/q, on Feldman, McMillan & Talwar 2022 for 10,000 reports",
        "At base δ it is 0.0167. About 20,000 reports are expected; the number holds from 10,000 on. "
        "For RAPPOR the remarks on Example 4 apply.",
        place="Example 6",
        relation=_REPLACE,
        delta=delta,
    )


# Section 3 and the figures -------------------------------------------------------


def _section_3() -> Iterator[Statement]:
    devices, rate, failure = 1_000_000, 0.02, 1e-6
    expected = rate * devices
    cohort = expected - math.sqrt(expected * math.log(1 / failure))
    yield compared(
        "probability that a sample stays below B = qk − √(qk·ln(1/δ)), q = 0.02, k = 1,000,000, δ = 10⁻⁶",
        "at most 0.000001",
        float(scipy.stats.binom.cdf(math.ceil(cohort) - 1, devices, rate)),
        "exact: Bin(k, q)",
        "Chernoff's bound gives δ for qk − √(2qk·ln(1/δ)): a factor √2 is missing under the root, and what "
        "is left is about √δ.",
        expected=False,
        place="Section 3",
    )
    shares = (0.5, 0.25, 0.25)
    error = 1 - sum(share**2 for share in shares)
    yield compared(
        "Σ pᵢ(1 − pᵢ) as a multiple of 1 − max pᵢ, p = (1/2, 1/4, 1/4)",
        "at most 1",
        error / (1 - max(shares)),
        "exact",
        "The inequality is reversed: Σ pᵢ² ≤ max pᵢ, so that the error lies between (1 − max pᵢ)/M and 1/M. "
        "This is what the footnote needs to call it close to 1/M.",
        expected=False,
        place="Section 3.1, footnote 4",
    )


def _section_3_1() -> Iterator[Statement]:
    epsilon, delta = BUDGET
    rate, tasks = 0.01, 1_000
    claim = partial(compared, place="Section 3.1", relation=_ADD_REMOVE, delta=delta)
    for sigma, method in (
        (noise_multiplier(rate, tasks, epsilon, delta), "privacy loss distribution"),
        (moments_accountant_noise(rate, tasks, epsilon, delta), "Rényi divergences (moments accountant)"),
    ):
        yield claim("σ for ε = 1 over T = 1,000 tasks, q = 0.01", "", sigma, method)
    setting = Setting(population=POPULATION, reports=10_000, buckets=10_000, tasks=tasks)
    parameters = "N = 1,000,000, M = 10,000, K = 10,000, T = 1,000"
    sampled = sampled_error(setting)
    drawn = partial(Statement, place="Section 3.1, Figure 2", why="Drawn only. Our choice of parameters.")
    yield drawn(f"squared error of NONPRIV, {parameters}", errors.without_privacy(setting), method="1/M")
    for name, value, method in (
        ("AGG", aggregated_error(setting), "1/M + Kσ²/M² with the σ of ⌈TM/N⌉ = 10 sums"),
        ("SAMPAGG", sampled, "1/M + Kσ²/M² with the σ above (privacy loss distribution)"),
    ):
        yield drawn(
            f"squared error of {name}, {parameters}", value, method=method, relation=_ADD_REMOVE, delta=delta
        )
    yield claim(
        f"what privacy adds to the error of SAMPAGG, as a multiple of 1/M, {parameters}",
        "negligible",
        errors.privacy_share(sampled, errors.without_privacy(setting)),
        "Kσ²/M",
        "Said of plots whose parameters are not in the text. It holds for few tasks or small alphabets; "
        "at these parameters the added error is the larger part.",
    )


def _section_4() -> Iterator[Statement]:
    found = dummy_reports_delta(1_000_000, 1.0)
    yield Statement(
        place="Section 4.6",
        quantity="δ at ε = 1 of the number of reports, with dummy reports at the rate 1/(εk), k = 1,000,000",
        printed="(1, δ)-private",
        value=found,
        method="exact: Bin(k, 1/(εk)) against the same plus 1",
        agrees=found <= 1e-3,
        expected=False,
        why="At this rate one dummy is expected, and there is none with probability exp(−1/ε); then the "
        "count is exact. The expected number of dummies must grow as ln(1/δ)/ε².",
        relation=_ADD_REMOVE,
    )
    halved = partial(
        compared,
        "ε against an observer who controls half the batch, as a multiple of ε without",
        "≈ √2",
        place="Section 4.8",
    )
    yield halved(
        Gaussian(sigma=5.1 / math.sqrt(2)).epsilon(1e-8) / Gaussian(sigma=5.1).epsilon(1e-8),
        "exact, Example 3 with half the noise variance",
        relation=_ADD_REMOVE,
        delta=1e-8,
    )
    yield halved(
        ShuffledRandomizedResponse(n=5_000, epsilon0=4.0).epsilon(1e-10)
        / ShuffledRandomizedResponse(n=10_000, epsilon0=4.0).epsilon(1e-10),
        "Feldman, McMillan & Talwar 2022, Example 4 with 5,000 honest reports",
        relation=_REPLACE,
        delta=1e-10,
    )


def dummy_reports_delta(devices: int, epsilon: float) -> float:
    """δ(ε) of the number of reports if each of `devices` sends a dummy with probability 1/(ε·devices)."""
    counts = np.arange(200)
    probability = scipy.special.xlogy(counts, 1 / (epsilon * devices)) + scipy.special.xlog1py(
        devices - counts, -1 / (epsilon * devices)
    )
    choose = (
        scipy.special.gammaln(devices + 1)
        - scipy.special.gammaln(counts + 1)
        - scipy.special.gammaln(devices - counts + 1)
    )
    fewer = np.exp(probability + choose)
    one_more = np.concatenate(([0.0], fewer[:-1]))
    growth = math.exp(epsilon)
    return float(
        max(np.maximum(fewer - growth * one_more, 0).sum(), np.maximum(one_more - growth * fewer, 0).sum())
    )


def _appendix_b() -> Iterator[Statement]:
    small = Setting(population=100_000, reports=10_000, buckets=10_000, tasks=1_000)
    large = replace(small, population=POPULATION)
    for name, error in (("AGG", aggregated_error), ("SAMPAGG", sampled_error)):
        yield compared(
            f"squared error of {name} with N = 100,000 as a multiple of that with N = 1,000,000 "
            "(M = K = 10,000, T = 1,000)",
            "1",
            error(small) / error(large),
            "section 3.1",
            "“The population size N has no impact on the calculation”: it sets the sampling rate M/N and "
            "the ⌈TM/N⌉ sums that a user takes part in, and so σ. Only the sampling error is free of it.",
            expected=False,
            place="Appendix B",
            relation=_ADD_REMOVE,
            delta=BUDGET[1],
        )


def aggregated_error(setting: Setting) -> float:
    """AGG of the plain histogram, with the noise of ⌈TM/N⌉ sums without amplification."""
    return errors.aggregated(setting, noise_multiplier(1.0, setting.participations, *BUDGET))


def sampled_error(setting: Setting) -> float:
    """SAMPAGG of the plain histogram, with the noise of T sums over secret samples."""
    return errors.aggregated(setting, noise_multiplier(setting.sampling_rate, setting.tasks, *BUDGET))


def sparse_aggregated_error(setting: Setting) -> float:
    """AGG of the sparse histogram, from a uniform sample."""
    return errors.sparse_aggregated(setting, noise_multiplier(1.0, setting.participations, *BUDGET))


def sparse_sampled_error(setting: Setting) -> float:
    """SAMPAGG of the sparse histogram, from importance sampling."""
    return errors.sparse_sampled(setting, noise_multiplier(setting.targeted_rate, setting.tasks, *BUDGET))


_LINES: tuple[tuple[str, Role, Callable[[Setting], float]], ...] = (
    ("NONPRIV", Role.BASELINE, errors.without_privacy),
    ("AGG", Role.AGGREGATED, aggregated_error),
    ("SAMPAGG", Role.SAMPLED, sampled_error),
)
_SPARSE_LINES: tuple[tuple[str, Role, Callable[[Setting], float]], ...] = (
    ("NONPRIVUNIF", Role.BASELINE, errors.sparse_uniform),
    ("NONPRIVIMPSAMP", Role.BASELINE_TARGETED, errors.sparse_targeted),
    ("AGG", Role.AGGREGATED, sparse_aggregated_error),
    ("SAMPAGG", Role.SAMPLED, sparse_sampled_error),
)

_CHOICES = (
    "The labels of the printed figure are not in the text. Chosen: N = 1,000,000{more}. The noise of AGG is "
    "exact, that of SAMPAGG by privacy loss distributions; the budget is ε = 1, δ = 10⁻⁶ under add/remove."
)
_SPARSE_CHOICE = (
    " Sampling error is that of draws from a distribution; the noise of SAMPAGG is set by the higher "
    "of the two sampling rates, min(M/(2γN), 1)."
)


def figures() -> Iterator[Figure]:
    """Figures 1 to 3 and 5 to 8. Takes some minutes: σ is calibrated for 44 pairs of rate and T."""
    yield _figure(
        1,
        "Squared error of one histogram: of all users' values (left), and of the values other than the "
        "default where a share γ of users has one (middle, right).",
        " and K = 10,000, T = 1, γ = 0.1 and 0.01",
        [_panel(10_000, 1, share) for share in (1.0, 0.1, 0.01)],
    )
    yield _figure(
        2,
        "Squared error of one of T histograms under one budget.",
        " and K = 10,000",
        [_panel(10_000, tasks) for tasks in TASKS],
        columns=2,
    )
    yield _figure(
        3,
        "Squared error on the values other than the default, which a share γ of users has; one of T "
        "histograms under one budget.",
        " and K = 10,000, γ = 0.1 and 0.01, T = 1 and 1,000",
        [_panel(10_000, tasks, share) for tasks in (1, 1_000) for share in (0.1, 0.01)],
        columns=2,
    )
    yield measured()
    yield measured_rounds()
    for number, share in ((5, 1.0), (6, 0.1), (7, 0.01), (8, 0.001)):
        sparse = f" on the values other than the default, which a share γ = {share:g} of users has;"
        yield _figure(
            number,
            f"Squared error{sparse if share < 1 else ' of'} one of T histograms over K values under one "
            "budget.",
            "; K and T between the named ends",
            [_panel(buckets, tasks, share) for tasks in TASKS for buckets in BUCKETS],
        )


def measured() -> Figure:
    """Collections that devices took part in, on the lines of Figures 2 and 3. Takes a minute."""
    figure = _figure(
        2,
        "Squared error of collections by devices that randomize their values, as points on the lines of "
        "Figures 2 and 3, which are computed.",
        f"; K = {BUCKETS_MEASURED:,} (recipes may ask for no more), T = 1 and 1,000, γ = 0.1 on the right",
        [_measured_panel(tasks, share) for tasks in (1, 1_000) for share in (1.0, 0.1)],
        columns=2,
    )
    return replace(
        figure,
        key="saa-measured",
        title="Figures 2 and 3, measured",
        choices=f"{figure.choices} A point is one of the T collections. Its devices add randomized response "
        "whose noise has the variance that SAMPAGG asks for. Each lies within its sampling error, which "
        "a point exceeds with a probability of at most 10⁻⁶.",
    )


def measured_rounds() -> Figure:
    """Rounds that devices took part in, on the line of Example 5. Takes seconds."""
    found = list(MEASURED_ROUNDS.measured(max(POINTS)))
    lines = (
        Line("computed", Role.SAMPLED, tuple(map(MEASURED_ROUNDS.line, POINTS))),
        Line("measured", Role.MEASURED, tuple(found[rounds - 1] for rounds in POINTS)),
    )
    return Figure(
        key="saa-measured-rounds",
        title="Example 5, measured",
        caption="Squared error of the mean of the first rounds of Example 5, by devices that toss a coin and "
        "add their share of the noise in each round, as points on the line that is computed.",
        x_title="rounds",
        y_title="expected squared error",
        columns=1,
        panels=(Panel("σ = 5.1, q = 0.02", tuple(map(float, POINTS)), lines),),
        choices="Chosen: 14,000 devices with one vector of 15 coordinates, so that noise alone is seen, and "
        "the noise of a cohort of 200. Each point lies within its sampling error, which it exceeds with a "
        "probability of at most 10⁻⁶.",
    )


def measured_point(setting: Setting) -> Point:
    """A collection with the noise of SAMPAGG."""
    rate = setting.targeted_rate if setting.share < 1 else setting.sampling_rate
    return Point(
        setting, noise_multiplier(rate, setting.tasks, *BUDGET), seed=setting.reports + setting.tasks
    )


def _measured_panel(tasks: int, share: float) -> Panel:
    settings = [Setting(POPULATION, reports, BUCKETS_MEASURED, tasks, share) for reports in REPORTS]
    panel = _panel(BUCKETS_MEASURED, tasks, share)
    points = {
        float(setting.reports): measured_point(setting).measured()
        for setting in settings
        if setting.reports in MEASURED
    }
    line = Line("measured", Role.MEASURED, tuple(points.get(reports) for reports in panel.x))
    return replace(panel, lines=(*panel.lines, line))


def _figure(number: int, caption: str, more: str, panels: list[Panel], *, columns: int = 3) -> Figure:
    sparse = any(line.kind is Role.BASELINE_TARGETED for panel in panels for line in panel.lines)
    return Figure(
        key=f"saa-figure-{number}",
        title=f"Figure {number}",
        caption=caption,
        x_title="devices sampled, M",
        y_title="expected squared error",
        columns=columns,
        panels=tuple(panels),
        choices=_CHOICES.format(more=more) + (_SPARSE_CHOICE if sparse else ""),
    )


def _panel(buckets: int, tasks: int, share: float = 1.0) -> Panel:
    settings = [Setting(POPULATION, reports, buckets, tasks, share) for reports in REPORTS]
    name = f"K = {buckets:,}, T = {tasks:,}" + (f", γ = {share:g}" if share < 1 else "")
    lines = (Line.over(settings, *line) for line in (_SPARSE_LINES if share < 1 else _LINES))
    return Panel(name, tuple(map(float, REPORTS)), tuple(lines))
