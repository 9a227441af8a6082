"""API tokens, stored without what an attacker would need to use one."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.crypto import constant_time_compare

NAME_LENGTH = 60


class ApiToken(models.Model):
    """What one program may do for one account, until when.

    Of the token itself only its SHA-256 is kept. It has 256 random bits, so no slower hash is needed.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=NAME_LENGTH, help_text="What it is for, as its owner calls it.")
    prefix = models.CharField(
        max_length=8, unique=True, help_text="First digits of the token: its public name."
    )
    secret_hash = models.CharField(max_length=64, help_text="SHA-256 of the whole token.")
    scopes = models.JSONField(help_text="Names of the scopes that it was given.")
    password_mark = models.CharField(
        max_length=128, help_text="Changes with the account's password, and ends the token then."
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_on = models.DateField(null=True, help_text="Only the day.")
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                name="api_token_expires_later", condition=models.Q(expires_at__gt=models.F("created_at"))
            ),
        )

    def __str__(self) -> str:
        return f"{self.prefix} {self.name}"

    def ended(self, now: datetime) -> str:
        """Why it does not work any more, as a clause; empty if it does."""
        if self.revoked_at is not None:
            return "it was revoked"
        if self.expires_at <= now:
            return "it has expired"
        if not self.user.is_active:
            return "its account is switched off"
        if not constant_time_compare(self.password_mark, self.user.get_session_auth_hash()):
            return "its account's password was changed"
        return ""
