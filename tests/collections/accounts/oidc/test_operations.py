"""The account of a person, when requests come at once."""

from functools import partial

import pytest
from django.contrib.auth.models import User

from accounts.oidc.configuration import Organization
from accounts.oidc.id_tokens import Person
from accounts.oidc.operations import account_sign_in
from tests.collections.accounts.oidc.scene import ADMINISTRATORS, GROUP, organization
from tests.concurrency import at_once

pytestmark = pytest.mark.django_db(transaction=True)

ISSUER = "https://login.example"


def person(subject: str, name: str, *groups: str) -> Person:
    return Person(subject, name, frozenset(groups), None, second_factor=False)


def calls_of(found: Organization, *persons: Person) -> list[User]:
    return at_once(*(partial(account_sign_in, organization=found, person=each) for each in persons))


def test_account_of_one_person_at_once_is_one() -> None:
    made = calls_of(organization(ISSUER), *[person("1", "ida", GROUP)] * 4)
    assert {user.pk for user in made} == {User.objects.get().pk}


def test_accounts_of_persons_with_one_name_at_once_are_several() -> None:
    made = calls_of(organization(ISSUER), *(person(str(number), "ida", GROUP) for number in range(3)))
    assert len({user.username for user in made}) == User.objects.count() == 3


def test_roles_of_sign_ins_at_once_are_those_of_one_of_them() -> None:
    found = organization(ISSUER)
    account_sign_in(organization=found, person=person("1", "ida", "audit"))
    calls_of(found, *[person("1", "ida", GROUP), person("1", "ida", ADMINISTRATORS)] * 3)
    user = User.objects.get()
    is_analyst = [group.name for group in user.groups.all()] == ["Analysts"]
    assert user.is_superuser is user.is_staff is not is_analyst
