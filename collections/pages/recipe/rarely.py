"""From a released result to the form of the same statistic for rare values, with γ as it came out."""

import math
from urllib.parse import urlencode

from django.urls import reverse

from panprivacy.statistics.randomized.rare_categories import LARGEST_SHARE, SMALLEST_SHARE
from recipes.models import Recipe
from results.excerpt import excerpt_of
from results.models import Release
from results.shares import shares_of

_DIGITS = 3

_RATE = 0.8
"""With which devices with another category count, as the form suggests: below 1, at which nothing is gained.
"""


def rarely_address(recipe: Recipe, release: Release) -> str:
    """The form of the statistic for rare values (`rare_counterpart`) with the same categories and devices,
    and the share γ that the result has for all categories but 0; empty if there is none, or no such
    statistic.

    γ only determines how precise the next result will be: no guarantee rests on it.
    """
    asked = recipe.published.calibrated_statistic
    shares, excerpt = shares_of(recipe, release), excerpt_of(release)
    if not asked.rare_counterpart or shares is None or 0 not in excerpt.positions:
        return ""
    rare = 1 - shares.share(excerpt.values[excerpt.positions.index(0)])
    if not SMALLEST_SHARE <= rare <= LARGEST_SHARE:
        return ""
    devices = round(shares.of)
    filled = {
        "statistic": asked.rare_counterpart,
        "k": len(asked.labels),
        "devices": devices,
        "population_size": devices,
        "counted_devices": max(1, math.ceil(max(_RATE * 2 * rare, 2 * SMALLEST_SHARE) * devices)),
        "rare_share": f"{rare:.{_DIGITS}g}",
        "population": recipe.published.population,
    }
    return f"{reverse('recipe-new')}?{urlencode(filled)}"
