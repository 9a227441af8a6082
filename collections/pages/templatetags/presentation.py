"""Template filters: the conventions for showing numbers and names."""

import math
from datetime import datetime

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from pages.words.certainty import delta_text
from pages.words.given import Given, Text, pieces
from pages.words.rejections import explanation
from pages.words.units import in_unit
from panprivacy.formats.display import duration, duration_and_seconds
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.catalogue import statistic_class
from web import numbers

register = template.Library()

register.filter("number", numbers.number)
register.filter("significant", numbers.significant)
register.filter("at_most", numbers.at_most)
register.filter("duration", duration)
register.filter("duration_and_seconds", duration_and_seconds)
register.filter("in_unit", in_unit)
register.filter("explanation", explanation)
register.filter("delta", delta_text)


@register.filter
def epsilon(value: float | None, unknown: str = "not computed yet") -> str:
    """ε to three significant digits; ∞ if none holds; `unknown` in place of None."""
    if value is None:
        return unknown
    return "∞ (nothing is promised)" if math.isinf(value) else numbers.significant(value, 3)


@register.filter
def percent(share: float) -> str:
    """A share as a percentage of three significant digits."""
    return "∞%" if math.isinf(share) else f"{numbers.significant(100 * share, 3)}%"


@register.filter
def instant(time: str) -> datetime:
    """A time as documents and JSON have it, for includes/time.html."""
    return datetime.fromisoformat(time)


@register.filter
def statistic_title(name: str) -> str:
    """The title of a registered statistic; the name in words if another version registered it."""
    try:
        return statistic_class(name).title
    except FieldError:
        return words(name)


@register.filter
def words(name: str) -> str:
    """A registered name in words: count_nonzero → count nonzero."""
    return str(name).replace("_", " ")


_LOGGED = {
    "min_batch_size": "cohort size",
    "report_count": "reports in the total",
    "collected": "share released",
}


@register.filter
def logged(name: str) -> str:
    """The name of a detail of a log entry in words."""
    return _LOGGED.get(name) or words(name)


@register.filter
def isolated(text: Text) -> SafeString:
    """A text of a record; what was given in it keeps its own direction of writing."""
    return format_html_join("", "{}", ((_isolated(piece),) for piece in pieces(text)))


def _isolated(piece: str) -> str:
    return format_html("<bdi>{}</bdi>", piece) if isinstance(piece, Given) else piece
