"""Releases in Django's admin: to be read only."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from audit.admin import ReadOnlyAdmin
from releases.models import NUMBERS, Release


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    list_display = ("recipe", "outcome", "reports", "reason", "released_at", "software")
    list_filter = ("outcome", "released_at")
    list_select_related = ("recipe",)
    search_fields = ("recipe__name", "recipe__identifier")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Release]:
        # The list shows none of them; the page of one release loads them as it comes to them.
        return super().get_queryset(request).defer(*NUMBERS)
