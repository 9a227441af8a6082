import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.test import RequestFactory

from audit.access import signed_in_user


def test_account_of_a_request_is_whoever_is_signed_in() -> None:
    request = RequestFactory().get("/")
    request.user = User(username="ada")
    assert signed_in_user(request) is request.user


def test_account_of_a_request_of_nobody_is_refused() -> None:
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    with pytest.raises(PermissionDenied):
        signed_in_user(request)
