"""The second factor of an account, stored without what an attacker would need to use it."""

from django.conf import settings
from django.db import models


class Factor(models.Model):
    """The secret that an account shares with an app, sealed, and how often guesses at its codes failed."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="second_factor")
    sealed = models.BinaryField(help_text="160 bits, sealed under the key-encryption key.")
    begun_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True, help_text="Null until its first code was right.")
    last_step = models.BigIntegerField(default=0, help_text="Of the newest code that was used.")
    failures = models.PositiveIntegerField(default=0, help_text="Wrong codes since the last right one.")
    blocked_until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"second factor of {self.user}"


class RecoveryCode(models.Model):
    """One code that works once: it is deleted then. It has 80 random bits, so no slow hash is needed."""

    factor = models.ForeignKey(Factor, models.CASCADE, related_name="recovery_codes")
    code_hash = models.CharField(max_length=64, help_text="SHA-256.")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("factor", "code_hash"), name="recovery_code_once"),)

    def __str__(self) -> str:
        return f"recovery code of {self.factor_id}"
