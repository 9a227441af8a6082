"""What entries of the log are about: by name, and with a link if there is a page of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from log.audit.models import Entry
from recipes.models import Recipe
from recipes.selectors import recipes_of_subjects
from series.models import Series
from series.selectors import series_of_subjects


@dataclass(frozen=True)
class Page:
    """The address of something's own page, and its name."""

    address: str
    name: str


@dataclass(frozen=True)
class Subjects:
    """The recipes and series that some entries are about, by subject."""

    recipes: Mapping[str, Recipe]
    series: Mapping[str, Series]

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Self:
        """All of them, read at once."""
        subjects = {entry.subject for entry in entries}
        return cls(recipes_of_subjects(subjects), series_of_subjects(subjects))

    def identifier(self, entry: Entry) -> str:
        """Of the recipe that the entry is about; else empty."""
        recipe = self.recipes.get(entry.subject)
        return "" if recipe is None else str(recipe.identifier or "")

    def page(self, subject: str) -> Page | None:
        """Of the published recipe or the series with this subject; None if it is another."""
        recipe, series = self.recipes.get(subject), self.series.get(subject)
        if recipe is not None and recipe.identifier:
            return Page(reverse("recipe", args=[recipe.identifier]), recipe.name)
        return None if series is None else Page(reverse("series", args=[series.identifier]), series.name)

    def in_words(self, entry: Entry, *, drafts: bool) -> SafeString:
        """What the entry is about.

        Args:
            drafts: whether the reader may open drafts, so that they are linked.
        """
        recipe = self.recipes.get(entry.subject)
        page = self.page(entry.subject)
        if page is not None:
            return _linked(page.name, page.address)
        if recipe is not None:
            return linked(recipe.name, "recipe-draft", recipe.pk) if drafts else _quoted(recipe.name)
        kind, _, name = entry.subject.partition(" ")
        if kind == "population" and name:
            try:
                return linked(name, "population", name)
            except NoReverseMatch:
                return _quoted(name)
        if kind in ("draft", "proposal") and name.isdigit():
            gone = entry.details.get("name")
            return _quoted(gone) if isinstance(gone, str) else format_html("number {}", name)
        return _quoted(entry.subject)


def linked(name: str, page: str, key: Any) -> SafeString:
    """A name in quotation marks, which leads to its page."""
    return _linked(name, reverse(page, args=[key]))


def _linked(name: str, address: str) -> SafeString:
    return format_html('“<a href="{}">{}</a>”', address, name)


def _quoted(name: str) -> SafeString:
    return format_html("“{}”", name)
