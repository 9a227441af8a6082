"""A second factor: the password alone signs no account in, and no code works twice."""

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.second_factor.codes import recovery_hash, step_of_code
from accounts.second_factor.models import Factor, RecoveryCode
from accounts.second_factor.operations import (
    FAILURES_AT_ONCE,
    FactorStateError,
    SecondFactorError,
    begun_secret,
    factor_begin,
    factor_check,
    factor_confirm,
    factor_remove,
    recovery_codes_make,
)
from accounts.second_factor.operations import timezone as clock_of_codes
from log.audit.models import Entry
from tests.collections.accounts.second_factor.scene import code_of
from tests.page_text import page_text
from tests.scenes import PASSWORD, account

pytestmark = pytest.mark.django_db

STEP = timedelta(seconds=30)


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        monkeypatch.setattr(clock_of_codes, "now", lambda: self.now)

    def code(self, secret: bytes) -> str:
        return code_of(secret, self.now.timestamp())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    cache.clear()
    return Clock(monkeypatch)


@pytest.fixture
def ana() -> User:
    return account("ana", "Analysts")


def enrolled(user: User, clock: Clock) -> tuple[bytes, list[str]]:
    secret = factor_begin(user=user)
    codes = factor_confirm(user=user, code=clock.code(secret))
    clock.now += STEP
    return secret, codes


def first_step(client: Client, password: str = PASSWORD) -> Any:
    return client.post(reverse("sign-in"), {"username": "ana", "password": password})


def second_step(client: Client, code: str) -> Any:
    return client.post(reverse("sign-in-code"), {"code": code})


def assert_refused(user: User, code: str) -> None:
    with pytest.raises(SecondFactorError):
        factor_check(user=user, code=code)


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


@pytest.mark.parametrize(
    ("seconds", "code"), [(59, "287082"), (1111111109, "081804"), (1234567890, "005924")]
)
def test_codes_are_those_of_rfc_6238(seconds: int, code: str) -> None:
    """Appendix B, SHA-1, the last six of its eight digits."""
    secret = b"12345678901234567890"
    assert code_of(secret, seconds) == code
    assert step_of_code(secret, code, seconds + 30) == seconds // 30
    assert step_of_code(secret, code, seconds + 60) is None
    assert step_of_code(secret, "", seconds) is None


def test_the_password_alone_signs_no_account_in(ana: User, clock: Clock) -> None:
    secret, _ = enrolled(ana, clock)
    client = Client()
    assert first_step(client)["Location"] == reverse("sign-in-code")
    assert not is_signed_in(client)
    assert client.get(reverse("own-password")).status_code == 302
    key = client.session.session_key
    assert second_step(client, clock.code(secret))["Location"] == "/"
    assert is_signed_in(client)
    assert client.session.session_key != key
    assert Entry.objects.filter(action="signed_in", subject="ana").count() == 1


def test_a_code_works_once_and_none_that_is_older_works_after_it(ana: User, clock: Clock) -> None:
    secret, _ = enrolled(ana, clock)
    before = clock.code(secret)
    clock.now += STEP
    used = clock.code(secret)
    factor_check(user=ana, code=f"{used[:3]} {used[3:]}")
    assert_refused(ana, used)
    assert_refused(ana, before)


def test_a_recovery_code_works_once_however_it_is_written(ana: User, clock: Clock) -> None:
    _, codes = enrolled(ana, clock)
    assert not RecoveryCode.objects.filter(code_hash__in=codes).exists()
    client = Client()
    first_step(client)
    assert second_step(client, codes[0].lower().replace("-", " ")).status_code == 302
    assert Entry.objects.get(action="recovery_code_used").details == {"left": 9}
    assert_refused(ana, codes[0])
    recovery_codes_make(user=ana)
    assert_refused(ana, codes[1])
    assert recovery_hash("no code") is None


def test_wrong_codes_lock_the_account_as_wrong_passwords_do(ana: User, clock: Clock) -> None:
    secret, _ = enrolled(ana, clock)
    client = Client()
    for _ in range(4):
        first_step(client, "guess")
    assert first_step(client)["Location"] == reverse("sign-in-code")
    answers = [second_step(client, "no").status_code for _ in range(4)]
    assert answers[:3] == [422] * 3
    assert answers[3] == 429
    # Neither the right code nor the right password opens it now.
    assert second_step(client, clock.code(secret)).status_code == 429
    assert first_step(client).status_code == 429
    assert not is_signed_in(client)


def test_wrong_codes_from_anywhere_make_the_account_wait_ever_longer(ana: User, clock: Clock) -> None:
    secret, codes = enrolled(ana, clock)

    for minutes in (15, 30):
        for code in ["000"] * FAILURES_AT_ONCE:
            assert_refused(ana, code)
        clock.now += timedelta(minutes=minutes) - STEP
        assert_refused(ana, clock.code(secret))
        assert_refused(ana, codes[0])
        clock.now += STEP
    factor_check(user=ana, code=clock.code(secret))
    assert Factor.objects.get().failures == 0


def test_first_step_ends_with_password_account_and_time(
    ana: User, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, _ = enrolled(ana, clock)
    clients = [Client() for _ in range(3)]
    for client in clients:
        first_step(client)
    monkeypatch.setattr("pages.account.sign_in.PENDING_SECONDS", 0)
    assert second_step(clients[0], clock.code(secret))["Location"] == reverse("sign-in")
    monkeypatch.undo()
    User.objects.filter(pk=ana.pk).update(is_active=False)
    assert second_step(clients[1], clock.code(secret))["Location"] == reverse("sign-in")
    User.objects.filter(pk=ana.pk).update(is_active=True, password="!")
    assert second_step(clients[2], clock.code(secret))["Location"] == reverse("sign-in")
    assert second_step(Client(), clock.code(secret))["Location"] == reverse("sign-in")


def test_setting_up_needs_password_and_code_and_ends_other_sessions(ana: User, clock: Clock) -> None:
    here, there, other = Client(), Client(), Client()
    for client in (here, there):
        client.force_login(ana)
    other.force_login(account("bob"))
    page = reverse("second-factor")
    assert here.post(page, {"action": "begin", "password": "guess"}).status_code == 422
    assert begun_secret(ana) is None
    here.post(page, {"action": "begin", "password": PASSWORD})
    secret = begun_secret(ana)
    assert secret is not None
    assert "<svg" in here.get(page).content.decode()
    assert here.post(page, {"action": "confirm", "code": "000"}).status_code == 422
    shown = page_text(here.post(page, {"action": "confirm", "code": clock.code(secret)}))
    assert "they are not shown again" in shown
    signed_in = [client.get(reverse("own-password")).status_code for client in (here, there, other)]
    assert signed_in == [200, 302, 200]
    assert secret not in bytes(Factor.objects.get().sealed)
    with pytest.raises(FactorStateError):
        factor_begin(user=ana)


def test_a_secret_that_was_shown_long_ago_is_not_taken_up(ana: User, clock: Clock) -> None:
    secret = factor_begin(user=ana)
    clock.now += timedelta(minutes=15)
    assert begun_secret(ana) is None
    with pytest.raises(FactorStateError, match="begin again"):
        factor_confirm(user=ana, code=clock.code(secret))


def test_thief_of_the_password_does_not_see_the_secret_taken_up(
    ana: User, clock: Clock, settings: Any
) -> None:
    settings.SECOND_FACTOR = "required"
    thief, owner, enrol = Client(), Client(), reverse("sign-in-enrol")
    seen = []
    for client in (thief, owner):
        first_step(client)
        seen.append(client.get(enrol).context["secret"])
    assert seen[0] != seen[1]
    assert owner.get(enrol).context["secret"] == seen[1]
    taken_up = begun_secret(ana)
    assert taken_up is not None
    # A code that its owner is talked into does not take it up in the other session.
    assert thief.post(enrol, {"code": clock.code(taken_up)}).context["secret"] not in seen
    assert owner.post(enrol, {"code": clock.code(taken_up)}).status_code == 422
    assert not Factor.objects.filter(confirmed_at__isnull=False).exists()


def test_another_session_neither_sees_nor_takes_up_a_secret_that_was_begun(ana: User, clock: Clock) -> None:
    here, there, page = Client(), Client(), reverse("second-factor")
    for client in (here, there):
        client.force_login(ana)
    here.post(page, {"action": "begin", "password": PASSWORD})
    secret = begun_secret(ana)
    assert secret is not None
    assert "secret" not in there.get(page).context
    there.post(page, {"action": "confirm", "code": clock.code(secret)})
    assert not Factor.objects.filter(confirmed_at__isnull=False).exists()
    assert here.post(page, {"action": "confirm", "code": clock.code(secret)}).status_code == 200


def test_switching_it_off_and_new_tokens_need_password_and_code(ana: User, clock: Clock) -> None:
    secret, _ = enrolled(ana, clock)
    client = Client()
    client.force_login(ana)
    page, tokens = reverse("second-factor"), reverse("own-tokens")
    proof = {"password": PASSWORD, "code": "000"}
    token = {"name": "report", "scopes": ["recipes:read"], "days": 1}
    assert client.post(page, {"action": "remove", **proof}).status_code == 422
    assert client.post(tokens, token | {"password": PASSWORD}).status_code == 422
    assert not ana.api_tokens.exists()
    made = client.post(tokens, token | proof | {"code": clock.code(secret)})
    assert made.status_code == 200
    header = {"Authorization": f"Bearer {made.context['text']}"}
    clock.now += STEP
    assert client.post(page, {"action": "remove", **proof, "code": clock.code(secret)}).status_code == 302
    assert not Factor.objects.exists()
    assert Client().get("/api/v1/recipes/drafts/", headers=header).status_code == 200
    assert Entry.objects.filter(action="second_factor_disabled", actor="ana").count() == 1


@pytest.mark.parametrize(
    ("policy", "staff", "leads_to"),
    [
        ("required", False, "sign-in-enrol"),
        ("administrators", True, "sign-in-enrol"),
        ("administrators", False, "overview"),
        ("optional", True, "overview"),
    ],
)
def test_required_factor_is_set_up_before_the_session_begins(
    clock: Clock, settings: Any, policy: str, staff: bool, leads_to: str
) -> None:
    settings.SECOND_FACTOR = policy
    ana, client = account("ana", is_staff=staff), Client()
    assert first_step(client)["Location"] == reverse(leads_to)
    if leads_to == "overview":
        return
    enrol = reverse("sign-in-enrol")
    assert "QR code" in client.get(enrol).content.decode()
    assert not is_signed_in(client)
    secret = begun_secret(ana)
    assert secret is not None
    assert second_step(client, clock.code(secret))["Location"] == enrol
    shown = client.post(enrol, {"code": clock.code(secret)})
    assert "Your recovery codes" in page_text(shown)
    assert is_signed_in(client)
    clock.now += STEP
    proof = {"password": PASSWORD, "code": clock.code(secret), "action": "remove"}
    client.post(reverse("second-factor"), proof)
    assert Factor.objects.exists()


def test_sign_in_asks_for_no_code_if_codes_are_off(ana: User, clock: Clock, settings: Any) -> None:
    enrolled(ana, clock)
    settings.SECOND_FACTOR = "off"
    client = Client()
    assert first_step(client)["Location"] == "/"
    assert client.get(reverse("second-factor")).status_code == 404


def test_administrator_and_operator_reset_that_of_others_on_record(ana: User, clock: Clock) -> None:
    ada = account("ada", is_superuser=True, is_staff=True)
    for user in (ana, ada):
        enrolled(user, clock)
    client = Client()
    client.force_login(ada)
    chosen = {"action": "reset_second_factor", "_selected_action": [ana.pk, ada.pk]}
    client.post(reverse("admin:auth_user_changelist"), chosen)
    assert [factor.user for factor in Factor.objects.all()] == [ada]
    entry = Entry.objects.get(action="second_factor_reset")
    assert (entry.actor, entry.subject) == ("ada", "ana")
    assert not factor_remove(user=ana, actor=ada)
    call_command("second_factor", "reset", "ada", stdout=io.StringIO())
    assert Entry.objects.get(action="second_factor_reset", subject="ada").actor == ""
    with pytest.raises(CommandError, match="no second factor"):
        call_command("second_factor", "reset", "ada")


def test_the_admin_has_no_sign_in_of_its_own_that_would_ask_for_no_code(ana: User) -> None:
    User.objects.filter(pk=ana.pk).update(is_staff=True)
    client, address = Client(), "/admin/login/?next=/admin/auth/user/"
    answer = client.post(address, {"username": "ana", "password": PASSWORD})
    assert answer["Location"] == "/sign-in/?next=/admin/auth/user/"
    assert not is_signed_in(client)
    assert client.get("/admin/", follow=True).redirect_chain[-1][0].startswith("/sign-in/")
    client.force_login(account("bob"))
    assert client.get("/admin/", follow=True).status_code == 403
    assert client.get("/admin/password_change/")["Location"] == "/password/"
