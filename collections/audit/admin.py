"""The log in Django's admin: to be read only."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from audit.models import Entry


class ReadOnlyAdmin(admin.ModelAdmin):
    """Nothing can be added, changed or deleted, whatever permissions an account has."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Entry)
class EntryAdmin(ReadOnlyAdmin):
    list_display = ("index", "at", "actor", "action", "subject", "details")
    list_filter = ("action", "at")
    search_fields = ("subject", "actor", "entry_hash")
    show_full_result_count = False
