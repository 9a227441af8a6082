"""What came of simulated devices: the object that `collect` prints and the API ends with."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from devices_sim.fleet_result import FleetResult
from panprivacy.recipe.token import REASONS
from recipes.models import Recipe
from recipes.numbers import numbers_of
from results.excerpt import interval_of
from results.exports import segments_document
from results.models import Release, SimulatedTruth
from results.rates import has_tokens
from results.trust_models import collection_model_of
from tokens.admission.selectors import issued_of

KNOWN_TO_THE_FLEET = ("duplicate_nonce", "duplicate_report", "report_replayed", "batch_full")
"""Reasons for rejections of which the devices know better how many there were: a server counts also what was
sent again after its answer got lost, and a shuffler counts nothing."""

OF_TOKENS = (*REASONS, "duplicate_nonce", "duplicate_report", "report_replayed")
"""Reasons for rejections that are about a token: a bad one, or one that was used before."""

PRIVACY_MEMBERS = (
    "model",
    "relation",
    "epsilon",
    "found_epsilon",
    "delta",
    "dishonest_fraction",
    "source",
    "assumption",
)


@dataclass(frozen=True)
class CollectionResult:
    """A whole collection with simulated devices; see docs/commands.md."""

    recipe: Recipe
    fleet: FleetResult
    release: Release
    rejected: Mapping[str, int]
    truth: tuple[float, ...]
    seconds: Mapping[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        mechanism = self.recipe.published.calibrated_statistic
        shape = itemgetter(0) if mechanism.scalar else list
        released = self.release.outcome == Release.Outcome.RELEASED
        errors = self.release.standard_errors
        interval = interval_of(self.release)
        return {
            "recipe": self.recipe.identifier,
            "statistic": self.recipe.statistic,
            "devices": self.fleet.devices,
            **({} if self.recipe.published.target is None else {"outside": self.fleet.outside}),
            "sampled": self.fleet.sampled,
            "reports": {"accepted": self.fleet.accepted, "rejected": dict(self.rejected)},
            **self._admission(),
            "released": released,
            "reason": self.release.reason or None,
            "estimate": shape(self.release.values) if released else None,
            "standard_error": shape(errors) if errors else None,
            "interval": None
            if interval is None
            else {
                "level": interval.level,
                "low": shape(interval.low),
                "high": shape(interval.high),
                "together": len(self.release.values),
            },
            **self._stated_besides(shape),
            "truth": shape(self.truth),
            **self._by_segment(),
            "privacy": [
                {member: guarantee[member] for member in PRIVACY_MEMBERS}
                for guarantee in self.release.guarantees
            ],
            "seconds": {name: round(seconds, 3) for name, seconds in self.seconds.items()},
        }

    def _admission(self) -> dict[str, Any]:
        """What became of the tokens, where reports need one."""
        if not has_tokens(self.recipe):
            return {}
        rejected = {reason: self.rejected[reason] for reason in OF_TOKENS if reason in self.rejected}
        issued = issued_of(self.recipe)
        return {"admission": {"issued": issued, "accepted": self.fleet.accepted, "rejected": rejected}}

    def _by_segment(self) -> dict[str, Any]:
        """What is told of each segment beside what is true of it, where the recipe asks by segment."""
        truth = SimulatedTruth.objects.filter(recipe=self.recipe).first()
        found = segments_document(self.release, truth)
        return {} if found is None else {"segments": found}

    def _stated_besides(self, shape: Callable[[Any], Any]) -> dict[str, Any]:
        """What only some statistics say: what dishonest devices can do, bounds of the error, and details."""
        release = self.release
        besides: dict[str, Any] = {}
        robustness = numbers_of(self.recipe).robustness
        if robustness is not None:
            besides["robustness"] = robustness.as_dict()
        if release.error_bounds:
            besides |= {"error_bound": shape(release.error_bounds), "confidence": release.confidence}
        if release.details:
            besides["details"] = release.details
        return besides


def rejections(recipe: Recipe, fleet: FleetResult) -> dict[str, int]:
    """The counts of every server, by reason; but a batch that had to be sent again was not rejected by its
    own first try."""
    first, *others = (
        Counter({**server.public_rejections, **server.hidden_rejections})
        for server in collection_model_of(recipe).progress(recipe).servers
    )
    first.update({reason: fleet.rejected[reason] - first[reason] for reason in KNOWN_TO_THE_FLEET})
    rejected = sum(others, first)
    return {reason: count for reason, count in rejected.items() if count}


def seconds_shared(
    fleet: FleetResult, *, reporting: float, processing: float, total: float
) -> dict[str, float]:
    """Where the time went, in seconds of wall clock.

    Devices and requests overlap when several processes work: their time is shared out in proportion to what
    the processes spent on each.

    Args:
        reporting: from the first device to the last answer.
        processing: from there to the release.
    """
    busy = fleet.device_seconds + fleet.submit_seconds
    share = fleet.device_seconds / busy if busy else 0.0
    return {
        "devices": reporting * share,
        "submit": reporting * (1 - share),
        "process": processing,
        "total": total,
    }
