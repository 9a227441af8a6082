"""Releases in Django's admin: to be read only."""

from django.contrib import admin

from audit.admin import ReadOnlyAdmin
from releases.models import Release


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    list_display = ("recipe", "outcome", "reports", "reason", "released_at", "software")
    list_filter = ("outcome", "released_at")
    list_select_related = ("recipe",)
    search_fields = ("recipe__name", "recipe__identifier")
