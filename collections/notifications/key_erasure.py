"""The keys of sealed secrets go with their subscription, even if its account is deleted."""

from django.db.models import Model
from django.db.models.signals import post_delete
from django.dispatch import receiver

from notifications.models import Subscription
from storage.sealing import secret_erase


@receiver(post_delete, sender=Subscription)
def erase_secrets(sender: type[Model], instance: Subscription, **_: object) -> None:
    """Erase them once the transaction is committed in which the row is deleted."""
    secret_erase(instance.sealed or None)
    secret_erase(instance.sealed_before)
