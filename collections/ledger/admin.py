"""The ledger in Django's admin: to be read only; budgets are set on the site's own pages."""

from django.contrib import admin

from audit.admin import ReadOnlyAdmin
from ledger.models import Population, Spending


@admin.register(Population)
class PopulationAdmin(ReadOnlyAdmin):
    list_display = ("name", "description", "epsilon", "delta", "created_at")
    search_fields = ("name", "description")


@admin.register(Spending)
class SpendingAdmin(ReadOnlyAdmin):
    list_display = ("population", "recipe", "returns", "at")
    list_filter = ("population", "at")
    list_select_related = ("population", "returns")
    search_fields = ("recipe",)
