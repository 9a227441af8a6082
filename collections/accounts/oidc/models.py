"""Which account is whose at the organization's provider."""

from django.conf import settings
from django.db import models

from accounts.oidc.configuration import LONGEST_ISSUER, LONGEST_SUBJECT


class Identity(models.Model):
    """The person of one account. Names and e-mail addresses identify no person: a provider may give them to
    another."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="oidc_identity")
    issuer = models.CharField(max_length=LONGEST_ISSUER)
    subject = models.CharField(max_length=LONGEST_SUBJECT, help_text="The claim `sub` of this issuer.")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("issuer", "subject"), name="oidc_identity_once"),)

    def __str__(self) -> str:
        return f"identity of {self.user}"
