"""Which accounts are the organization's."""

from django.contrib.auth.models import User

from accounts.oidc.models import Identity


def is_of_organization(user: User) -> bool:
    """Whether the account came by a sign-in at the provider."""
    return user.pk is not None and Identity.objects.filter(user=user).exists()
