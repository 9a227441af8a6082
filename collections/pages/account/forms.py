"""The form with which somebody makes an API token for their own account."""

from typing import Any

from django import forms
from django.contrib.auth.models import User

from api_tokens.models import NAME_LENGTH
from api_tokens.operations import LONGEST_DAYS
from api_tokens.selectors import scopes_open_to
from panprivacy.errors import FieldError


class TokenForm(forms.Form):
    """What the token is for and for how long. The password is asked, as the page may have been left open."""

    name = forms.CharField(max_length=NAME_LENGTH, help_text="What it is for, e.g. nightly report.")
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
    days = forms.IntegerField(
        label="Days until it expires",
        min_value=1,
        max_value=LONGEST_DAYS,
        initial=30,
        help_text=f"From 1 to {LONGEST_DAYS}.",
    )
    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *arguments: Any, user: User, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._user = user
        scopes = self.fields["scopes"]
        if isinstance(scopes, forms.MultipleChoiceField):
            scopes.choices = [(scope.name, scope.title) for scope in scopes_open_to(user)]

    def clean_password(self) -> str:
        """The account's own."""
        password = str(self.cleaned_data["password"])
        if not self._user.check_password(password):
            raise forms.ValidationError("This is not your password.")
        return password

    def add_field_error(self, error: FieldError) -> None:
        """Show a refusal of the domain at its field."""
        field = {"scope": "scopes", "expires": "days"}.get(error.field, error.field)
        said = f"{error.message[:1].upper()}{error.message[1:]}."
        self.add_error(field if field in self.fields else None, said)
