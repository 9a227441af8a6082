"""Forms that ask for one's own password, so that a passer-by at an unlocked browser cannot use them.

A wrong one counts as a failed sign-in: otherwise a passer-by at the unlocked browser could guess without
limit.
"""

from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.http import HttpRequest

from accounts.api_tokens.models import NAME_LENGTH
from accounts.api_tokens.operations import longest_days
from accounts.api_tokens.selectors import scopes_open_to
from accounts.second_factor.selectors import factor_of
from log.audit.access import signed_in_user
from pages.account.proofs import code_field, code_proved, is_recently_authenticated
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError


def _require_own_password(request: HttpRequest, password: str) -> None:
    """ValidationError if it is another, or too many were; the answer then is that of a lockout."""
    user = signed_in_user(request)
    proved = authenticate(request, username=user.get_username(), password=password)
    if not isinstance(proved, User) or proved != user:
        raise forms.ValidationError("This is not your password.")
    user.password = proved.password  # which the check may have hashed anew


class OwnPasswordForm(PasswordChangeForm):
    """Django's form for a new password."""

    def __init__(self, request: HttpRequest, *arguments: Any) -> None:
        super().__init__(signed_in_user(request), *arguments)
        self._request = request

    def clean_old_password(self) -> str:
        """The account's own."""
        password = str(self.cleaned_data["old_password"])
        _require_own_password(self._request, password)
        return password


class SignOutForm(forms.Form):
    """One's own password, and nothing else. An account without one has proved itself at the organization's
    provider a moment ago."""

    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, request: HttpRequest, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._request = request
        if not signed_in_user(request).has_usable_password():
            del self.fields["password"]

    @property
    def needs_provider(self) -> bool:
        """Whether the person must go to the provider first."""
        return "password" not in self.fields and not is_recently_authenticated(self._request)

    def clean(self) -> dict[str, Any]:
        """What was asked for, if the person has proved itself."""
        if self.needs_provider:
            raise forms.ValidationError("Confirm first that it is you.")
        return self.cleaned_data

    def clean_password(self) -> str:
        """The account's own."""
        password = str(self.cleaned_data["password"])
        _require_own_password(self._request, password)
        return password


class ProofForm(SignOutForm):
    """The password, and a code if the account has a second factor."""

    code = code_field()

    def __init__(self, request: HttpRequest, *arguments: Any) -> None:
        super().__init__(request, *arguments)
        if factor_of(signed_in_user(request)) is None:
            del self.fields["code"]

    def clean(self) -> dict[str, Any]:
        # Last, because a code works once: not for a form that has other errors.
        cleaned = super().clean()
        if "code" in self.fields and not self.errors:
            user = signed_in_user(self._request)
            if not code_proved(self._request, user, cleaned["code"]):
                self.add_error("code", "This code is wrong, or was used already.")
        return cleaned


class TokenForm(ProofForm):
    """What the token is for and for how long."""

    field_order = ("name", "scopes", "days", "password", "code")

    name = forms.CharField(max_length=NAME_LENGTH, help_text="What it is for, e.g. nightly report.")
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
    days = forms.IntegerField(
        label="Days until it expires",
        min_value=1,
        initial=30,
    )

    def __init__(self, request: HttpRequest, *arguments: Any) -> None:
        super().__init__(request, *arguments)
        days, longest = self.fields["days"], longest_days(signed_in_user(request))
        days.help_text = f"From 1 to {longest}."
        days.widget.attrs["max"] = longest
        scopes = self.fields["scopes"]
        if isinstance(scopes, forms.MultipleChoiceField):
            scopes.choices = [(scope.name, scope.title) for scope in scopes_open_to(signed_in_user(request))]

    def add_field_error(self, error: FieldError) -> None:
        """Show a refusal of the domain at its field."""
        field = {"scope": "scopes", "expires": "days"}.get(error.field, error.field)
        self.add_error(field if field in self.fields else None, sentence(error.message))
