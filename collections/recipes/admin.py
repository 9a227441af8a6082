"""Recipes in Django's admin: to be read only; they are made on the site's own pages."""

from django.contrib import admin

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
    exclude = ("signature",)
