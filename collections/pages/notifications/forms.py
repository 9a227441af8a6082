"""Forms with which people subscribe for themselves."""

from django import forms

from notifications.kinds import KINDS
from notifications.models import TARGET_LENGTH
from notifications.operations import LONGEST_MAIL_ADDRESS
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError


class EventsForm(forms.Form):
    """What a subscription is about. Its first field is the address."""

    events = forms.MultipleChoiceField(
        label="Events",
        choices=[(kind.name, kind.title) for kind in KINDS.values()],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )

    def add_field_error(self, error: FieldError) -> None:
        """Show a refusal of the domain at its field."""
        self.add_error(error.field if error.field in self.fields else None, sentence(error.message))


class WebhookForm(EventsForm):
    """A new webhook."""

    prefix = "webhook"

    url = forms.CharField(
        label="Address",
        max_length=TARGET_LENGTH,
        help_text="Begins with https://, on a public host.",
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off"}),
    )


class MailForm(EventsForm):
    """An address for e-mail."""

    prefix = "mail"

    address = forms.EmailField(
        label="Your e-mail address",
        max_length=LONGEST_MAIL_ADDRESS,
        help_text="We send a link to it. Nothing else is sent before you open the link.",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
