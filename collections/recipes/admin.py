"""Recipes in Django's admin: to be read only; they are made on the site's own pages."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from audit.admin import ReadOnlyAdmin
from recipes.models import Recipe


@admin.register(Recipe)
class RecipeAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "status",
        "statistic",
        "cohort_size",
        "simulation",
        "opens_at",
        "closes_at",
        "created_by",
    )
    list_filter = ("status", "statistic", "simulation", "opens_at")
    list_select_related = ("created_by",)
    search_fields = ("name", "question", "identifier")
    # What is exact of them stands in `document`; what only the draft said is the analysts' own.
    exclude = ("signature", "draft")

    class Media:
        css = {"all": ("admin.css",)}  # noqa: RUF012  # read once, when the class is made

    def get_queryset(self, request: HttpRequest) -> QuerySet[Recipe]:
        """What is public: drafts are seen by analysts only, on the site's own pages."""
        return super().get_queryset(request).exclude(status=Recipe.Status.DRAFT)
