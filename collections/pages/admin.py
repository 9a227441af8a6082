"""Django's admin: the log, recipes, releases and the ledger, all to be read only."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import DataError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from accounts.oidc.selectors import is_of_organization
from accounts.second_factor.operations import factor_remove
from ledger.models import Population, Spending
from log.audit.access import signed_in_user
from log.audit.models import Entry
from recipes.models import Recipe
from results.models import NUMBERS, Release


class _ReadableChangeList(ChangeList):
    """A list whose address asks for what can be computed; 400 for others, such as the year 0."""

    def get_results(self, request: HttpRequest) -> None:
        try:
            super().get_results(request)
        except (ValueError, OverflowError, DataError) as error:
            raise BadRequest("a filter that no database can compute") from error


class _ReadableLists(admin.ModelAdmin):  # type: ignore[type-arg]  # at run time it takes none
    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _ReadableChangeList


admin.site.site_title = "Private telemetry · Administration"
admin.site.index_title = "Administration"
admin.site.unregister(User)


class AccountForm(UserChangeForm):  # type: ignore[type-arg]  # as above
    """Judges a name only if it is changed: an account of any name can be switched off."""

    def _get_validation_exclusions(self) -> set[str]:
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]  # Django's own hook
        return excluded if "username" in self.changed_data else excluded | {"username"}


@admin.register(User)
class AccountAdmin(_ReadableLists, UserAdmin):  # type: ignore[type-arg]  # as above
    """Django's own, but for its lists, that its dates cannot be set, and that it can reset a
    second factor."""

    form = AccountForm
    actions = ("reset_second_factor",)
    readonly_fields = ("last_login", "date_joined")

    @admin.action(description="Reset the second factor", permissions=["change"])
    def reset_second_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Of others: one's own needs the password and a code, on its own page."""
        actor = signed_in_user(request)
        reset = [user for user in queryset.exclude(pk=actor.pk) if factor_remove(user=user, actor=actor)]
        names = ", ".join(user.get_username() for user in reset) or "nobody"
        self.message_user(request, f"Reset the second factor of {names}.")

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002  # Django's name
        """Django's own; no password for an account of the organization."""
        user = self.get_object(request, unquote(id))
        if user is not None and is_of_organization(user):
            raise PermissionDenied("This account signs in at the organization's provider.")
        response: HttpResponse = super().user_change_password(request, id, form_url)
        return response


class ReadOnlyAdmin(_ReadableLists):
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
    # What is exact of them stands in `document`; what only the draft has is for analysts only.
    exclude = ("signature", "draft", "editors")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Recipe]:
        """What is public: analysts alone see drafts and private simulations, on the site's own pages."""
        return super().get_queryset(request).exclude(status=Recipe.Status.DRAFT).filter(device_key="")


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    list_display = ("recipe", "outcome", "reports", "reason", "released_at", "software")
    list_filter = ("outcome", "released_at")
    list_select_related = ("recipe",)
    search_fields = ("recipe__name", "recipe__identifier")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Release]:
        # The list shows none of them; the page of one release loads them as it comes to them.
        return super().get_queryset(request).filter(recipe__device_key="").defer(*NUMBERS)


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
