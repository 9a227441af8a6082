"""Signing in at an OpenID provider that lies, replays, floods and stalls: no session, and an entry."""

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from threading import BoundedSemaphore, Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import Group, Permission, User
from django.core.cache import cache
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.api_tokens.models import ApiToken
from accounts.api_tokens.operations import token_create
from accounts.oidc import provider as requests_of_provider
from accounts.oidc.models import Identity
from accounts.oidc.operations import OrganizationPasswordError
from accounts.second_factor.operations import begun_secret
from accounts.second_factor.operations import timezone as clock_of_codes
from log.audit.models import Entry
from log.audit.sign_in import MOST
from pages.account import oidc, proofs
from panprivacy.formats.errors import FieldError
from tests.collections.accounts.oidc.scene import (
    ADMINISTRATORS,
    ANSWER,
    CLIENT_ID,
    CLIENT_SECRET,
    EC_KEY,
    GROUP,
    OTHER_EC_KEY,
    P384_KEY,
    RSA_KEY,
    START,
    WEAK_RSA_KEY,
    Provider,
    begun,
    came_back,
    jwk,
    organization,
    pem,
    running_provider,
    signed,
    signed_in_as,
)
from tests.collections.accounts.second_factor.scene import code_of
from tests.page_text import page_text
from tests.scenes import PASSWORD, account
from web.busy import BusyError

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider(settings: LazySettings) -> Iterator[Provider]:
    cache.clear()
    with running_provider() as running:
        settings.OIDC = organization(running.issuer)
        yield running


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def last_entry() -> Entry:
    found = Entry.objects.order_by("-index").first()
    assert found is not None
    return found


def test_first_sign_in_makes_an_account_with_the_roles_of_its_groups(
    client: Client, provider: Provider
) -> None:
    answer = signed_in_as(
        client, provider, "?next=/recipes/new/", groups=[GROUP, "audit"], amr=["pwd", "mfa"]
    )
    assert (answer.status_code, answer["Location"]) == (302, "/recipes/new/")
    user = User.objects.get(username="ida")
    assert {group.name for group in user.groups.all()} == {"Analysts", "Auditors"}
    assert (user.is_staff, user.is_superuser, user.has_usable_password(), user.email) == (False,) * 3 + ("",)
    entries = [(entry.action, entry.details) for entry in Entry.objects.order_by("index")]
    assert [action for action, _ in entries] == ["account_changed", "permission_changed", "signed_in"]
    assert entries[-1][1] == {"with": "organization", "second_factor": "stated"}
    assert "sign-in" not in {name for name, morsel in client.cookies.items() if morsel.value}


def test_code_goes_to_the_provider_with_secret_and_verifier(client: Client, provider: Provider) -> None:
    sent = begun(client)
    assert (sent["response_type"], sent["code_challenge_method"]) == ("code", "S256")
    assert (sent["client_id"], sent["scope"]) == (CLIENT_ID, "openid profile")
    assert sent["redirect_uri"] == f"http://testserver{ANSWER}"
    provider.token = signed(provider.claims(sent["nonce"]))
    came_back(client, sent)
    [(headers, form)] = [(headers, form) for path, headers, form in provider.asked if path == "/token"]
    pair = base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode()
    assert pair == f"{CLIENT_ID}:s3cret+%26+more"
    verifier = hashlib.sha256(form["code_verifier"].encode()).digest()
    assert base64.urlsafe_b64encode(verifier).rstrip(b"=").decode() == sent["code_challenge"]
    assert (form["code"], form["grant_type"]) == ("a-code", "authorization_code")
    assert form["redirect_uri"] == sent["redirect_uri"]


def test_provider_without_basic_gets_the_secret_in_the_form(client: Client, provider: Provider) -> None:
    provider.described["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    provider.described["scopes_supported"] = ["openid", "groups"]
    sent = begun(client)
    assert sent["scope"] == "openid profile groups"
    provider.token = signed(provider.claims(sent["nonce"]))
    assert came_back(client, sent).status_code == 302
    form = provider.asked[-2][2]
    assert (form["client_id"], form["client_secret"]) == (CLIENT_ID, CLIENT_SECRET)


MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)

BAD_CLAIMS: list[tuple[dict[str, Any], str]] = [
    ({"iss": "http://127.0.0.1:1"}, "issuer"),
    ({"iss": None}, "issuer"),
    ({"aud": "another"}, "audience"),
    ({"aud": [CLIENT_ID, "another"]}, "audience"),
    ({"aud": None}, "audience"),
    ({"azp": "another"}, "authorized party"),
    ({"nonce": "of another browser"}, "nonce"),
    ({"nonce": None}, "nonce"),
    ({"nonce": "\ud800"}, "nonce"),
    ({"exp": -2 * MINUTE}, "expiry"),
    ({"exp": None}, "expiry"),
    ({"exp": True}, "expiry"),
    ({"exp": "9999999999"}, "expiry"),
    ({"exp": 10**400}, "expiry"),
    ({"iat": HOUR}, "time of issue"),
    ({"iat": -HOUR}, "time of issue"),
    ({"iat": None}, "time of issue"),
    ({"nbf": HOUR}, "not valid yet"),
    ({"sub": None}, "subject"),
    ({"sub": ""}, "subject"),
    ({"sub": 7}, "subject"),
    ({"sub": "x" * 256}, "subject"),
    ({"sub": "a\0b"}, "subject"),
    ({"groups": None}, "groups missing"),
    ({"groups": {"telemetry-analysts": True}}, "groups missing"),
    ({"groups": [GROUP, 7]}, "groups missing"),
]


def refused(client: Client, answer: HttpResponse, reason: str, status: int = 400) -> str:
    """The page of a refusal that opened no session and made no account, and that is on record."""
    assert answer.status_code == status, answer.content
    assert not is_signed_in(client)
    assert not User.objects.exists()
    entry = last_entry()
    assert (entry.action, entry.subject, entry.actor) == ("sign_in_failed", "(unknown account)", "")
    assert entry.details == {"with": "organization", "reason": reason}
    assert "no-store" in answer["Cache-Control"]
    return page_text(answer)


@pytest.mark.parametrize(("changes", "reason"), BAD_CLAIMS, ids=str)
def test_token_with_wrong_claims_opens_no_session(
    client: Client, provider: Provider, changes: dict[str, Any], reason: str
) -> None:
    page = refused(client, signed_in_as(client, provider, **changes), reason)
    assert f"was refused ({reason})" in page
    assert "ida" not in page


BAD_SIGNATURES: dict[str, tuple[Callable[[Any], str], str]] = {
    "other key": (lambda claims: signed(claims, OTHER_EC_KEY), "signature"),
    "none": (lambda claims: signed(claims, algorithm="none"), "algorithm"),
    "None": (lambda claims: signed(claims, algorithm="none", alg="None"), "algorithm"),
    "HS256 by the public key": (lambda claims: signed(claims, pem(EC_KEY), "HS256"), "algorithm"),
    "HS256 by the secret": (lambda claims: signed(claims, CLIENT_SECRET.encode(), "HS256"), "algorithm"),
    "no algorithm": (lambda claims: signed(claims, alg=None), "algorithm"),
    "algorithm is a list": (lambda claims: signed(claims, alg=["ES256"]), "algorithm"),
    "RS256 without such a key": (lambda claims: signed(claims, RSA_KEY, "RS256"), "signature"),
    "ES256 header, RS256 signature": (
        lambda claims: signed(claims, RSA_KEY, "RS256", alg="ES256"),
        "signature",
    ),
    "another key's name": (lambda claims: signed(claims, kid="2"), "signature"),
    "key in the header": (
        lambda claims: signed(claims, OTHER_EC_KEY, jwk=jwk(OTHER_EC_KEY), kid="1"),
        "signature",
    ),
    "critical header": (lambda claims: signed(claims, crit=["b64"], b64=False), "form"),
    "unknown critical header": (lambda claims: signed(claims, crit=["exp"]), "form"),
    "claims are a list": (lambda claims: signed([claims]), "form"),
    "claim twice": (
        lambda claims: signed(b'{"iss": "x", ' + json.dumps(claims).encode()[1:]),
        "form",
    ),
    "claims are no JSON": (lambda claims: signed(b"\xff"), "form"),
    "changed": (lambda claims: signed(claims)[:-4] + "AAAA", "signature"),
    "two parts": (lambda claims: signed(claims).rpartition(".")[0], "form"),
    "five parts": (lambda claims: signed(claims) + ".x.y", "form"),
    "empty": (lambda claims: "", "form"),
    "half of a surrogate pair": (lambda claims: f"{signed(claims)}\ud800", "form"),
    "deep": (lambda claims: signed(b"[" * 30_000), "form"),
    "long": (lambda claims: signed({**claims, "x": "y" * 70_000}), "length"),
}


@pytest.mark.parametrize("name", BAD_SIGNATURES)
def test_token_that_the_provider_did_not_sign_opens_no_session(
    client: Client, provider: Provider, name: str
) -> None:
    make, reason = BAD_SIGNATURES[name]
    sent = begun(client)
    provider.token = make(provider.claims(sent["nonce"]))
    refused(client, came_back(client, sent), reason)


@pytest.mark.parametrize(
    ("keys", "key", "algorithm"),
    [
        ([jwk(WEAK_RSA_KEY)], WEAK_RSA_KEY, "RS256"),
        ([jwk(RSA_KEY, use="enc")], RSA_KEY, "RS256"),
        ([jwk(RSA_KEY, alg="PS256")], RSA_KEY, "RS256"),
        ([{**jwk(EC_KEY), "crv": "P-384"}], EC_KEY, "ES256"),
        ([jwk(P384_KEY)], P384_KEY, "ES256"),
        ([{"kty": "oct", "kid": "1", "k": "c2VjcmV0"}], b"secret", "HS256"),
        ([{"kty": "EC", "crv": "P-256", "kid": "1", "x": 7}], EC_KEY, "ES256"),
        ([7, None], EC_KEY, "ES256"),
        ([], EC_KEY, "ES256"),
    ],
    ids=[
        "1024 bits",
        "for encryption",
        "other algorithm",
        "wrong curve",
        "P-384",
        "shared",
        "broken",
        "no",
        "none",
    ],
)
def test_key_that_is_not_for_this_opens_no_session(
    client: Client, provider: Provider, keys: list[Any], key: Any, algorithm: str
) -> None:
    provider.keys = keys
    sent = begun(client)
    provider.token = signed(provider.claims(sent["nonce"]), key, algorithm)
    refused(client, came_back(client, sent), "algorithm" if algorithm == "HS256" else "signature")


def test_rs256_and_tokens_without_a_key_name_are_taken(client: Client, provider: Provider) -> None:
    provider.keys = [jwk(EC_KEY), jwk(RSA_KEY, "2")]
    for key, algorithm, header in ((RSA_KEY, "RS256", {"kid": "2"}), (EC_KEY, "ES256", {"kid": None})):
        sent = begun(client)
        provider.token = signed(provider.claims(sent["nonce"]), key, algorithm, **header)
        assert came_back(client, sent).status_code == 302
        client.logout()


def test_replaced_keys_are_fetched_once_and_old_ones_end(client: Client, provider: Provider) -> None:
    assert signed_in_as(client, provider).status_code == 302
    client.logout()
    assert provider.count("/keys") == 1
    provider.keys = [jwk(OTHER_EC_KEY, "new")]
    sent = begun(client)
    provider.token = signed(provider.claims(sent["nonce"]), OTHER_EC_KEY, kid="new")
    assert came_back(client, sent).status_code == 302
    assert provider.count("/keys") == 2
    client.logout()
    assert signed_in_as(client, provider).status_code == 400
    assert (provider.count("/keys"), provider.count("/.well-known/openid-configuration")) == (3, 1)


def test_answer_with_another_state_or_none_asks_the_provider_nothing(
    client: Client, provider: Provider
) -> None:
    refused(client, client.get(ANSWER, {"code": "a", "state": "b"}), "state")
    sent = begun(client)
    other = begun(Client())
    provider.token = signed(provider.claims(sent["nonce"]))
    refused(client, came_back(client, {"state": other["state"]}), "state")
    # The attempt is over: the right state comes too late.
    refused(client, came_back(client, sent), "state")
    refused(client, came_back(client, begun(client), iss="http://127.0.0.1:1"), "issuer")
    answer = came_back(client, begun(client), error="access_denied")
    page = refused(client, answer, "the provider's own refusal", status=403)
    assert "127.0.0.1 did not sign you in." in page
    assert "was refused" not in page
    refused(client, came_back(client, begun(client), code=""), "no code")
    refused(client, came_back(client, begun(client), code="x" * 5_000), "no code")
    assert provider.count("/token") == 0


def test_answer_that_is_replayed_with_its_cookie_is_refused(client: Client, provider: Provider) -> None:
    sent = begun(client)
    stolen = client.cookies["sign-in"].value
    provider.token = signed(provider.claims(sent["nonce"]))
    assert came_back(client, sent).status_code == 302
    thief = Client()
    thief.cookies["sign-in"] = stolen
    assert came_back(thief, sent).status_code == 400
    assert not is_signed_in(thief)
    assert (last_entry().details["reason"], provider.count("/token")) == ("state used", 1)


def test_attempt_that_is_old_or_forged_is_refused(
    client: Client, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = begun(client)
    client.cookies["sign-in"] = "x" + client.cookies["sign-in"].value
    refused(client, came_back(client, sent), "state")
    monkeypatch.setattr(oidc, "ATTEMPT_SECONDS", -1)
    refused(client, came_back(client, begun(client)), "state")


def test_code_that_the_provider_refuses_opens_no_session(client: Client, provider: Provider) -> None:
    provider.answers["/token"] = lambda: (400, iter((b'{"error": "invalid_grant"}',)))
    refused(client, came_back(client, begun(client)), "code")


def test_nonce_of_an_earlier_sign_in_opens_no_session(client: Client, provider: Provider) -> None:
    first, second = begun(Client()), begun(client)
    provider.token = signed(provider.claims(first["nonce"]))
    refused(client, came_back(client, second), "nonce")


def flood() -> Iterator[bytes]:
    while True:
        yield b" " * 65_536


def drip() -> Iterator[bytes]:
    while True:
        time.sleep(0.02)
        yield b" "


BAD_ANSWERS: dict[str, tuple[Callable[[], tuple[int, Iterator[bytes]]], str]] = {
    "huge": (lambda: (200, flood()), "no answer: OSError"),
    "dripping": (lambda: (200, drip()), "no answer: TimeoutError"),
    "redirect": (lambda: (302, iter(())), "status 302"),
    "failing": (lambda: (500, iter(())), "status 500"),
    "no JSON": (lambda: (200, iter((b"<html>",))), "not a JSON object"),
    "list": (lambda: (200, iter((b"[]",))), "not a JSON object"),
    "deep": (lambda: (200, iter((b"[" * 100_000,))), "not a JSON object"),
}


@pytest.mark.parametrize("path", ["/token", "/keys"])
@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_provider_that_answers_badly_holds_no_thread_for_long(
    client: Client, provider: Provider, monkeypatch: pytest.MonkeyPatch, path: str, name: str
) -> None:
    monkeypatch.setattr(requests_of_provider, "REQUEST_SECONDS", 0.5)
    provider.answers[path], reason = BAD_ANSWERS[name]
    sent = begun(client)
    provider.token = signed(provider.claims(sent["nonce"]))
    before = time.monotonic()
    page = refused(client, came_back(client, sent), reason, status=503)
    assert time.monotonic() - before < 5
    assert "Local accounts still work" in page


def test_provider_that_is_down_is_asked_once_and_passwords_work(client: Client, provider: Provider) -> None:
    provider.answers["/.well-known/openid-configuration"] = lambda: (500, iter(()))
    assert [client.get(START).status_code for _ in range(3)] == [503] * 3
    assert provider.count("/.well-known/openid-configuration") == 1
    refused(client, client.get(START), "discovery document", status=503)
    page = page_text(client.get("/sign-in/"))
    assert "Sign in with your organization’s account" in page
    account("mary")
    client.post("/sign-in/", {"username": "mary", "password": PASSWORD})
    assert is_signed_in(client)


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": "http://127.0.0.1:1"},
        {"issuer": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": "http://a:b@127.0.0.1/"},
        {"token_endpoint": "http://127.0.0.1:x/"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
        {"jwks_uri": 7},
        {"token_endpoint_auth_methods_supported": ["private_key_jwt"]},
    ],
    ids=str,
)
def test_discovery_document_that_cannot_be_used_is_refused(
    client: Client, provider: Provider, change: dict[str, Any]
) -> None:
    provider.described |= change
    assert client.get(START).status_code == 503


@pytest.mark.parametrize("host", ["127.0.0.2", "localhost", "[::1]", "169.254.169.254"])
def test_private_host_that_the_document_names_is_not_asked(
    client: Client, provider: Provider, host: str
) -> None:
    port = urlsplit(provider.issuer).port
    provider.described["token_endpoint"] = f"http://{host}:{port}/token"
    refused(client, came_back(client, begun(client)), "no answer: OSError", status=503)
    assert provider.count("/token") == 0


def test_secure_issuer_has_no_plain_address(
    client: Client, settings: LazySettings, provider: Provider
) -> None:
    described = {**provider.described, "issuer": "https://provider.example"}
    with pytest.raises(Exception, match="an address in the discovery document"):
        requests_of_provider._described(organization("https://provider.example"), described)


@pytest.mark.django_db(transaction=True)
def test_slow_provider_has_few_threads_and_others_are_turned_away(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And holds no connection: the threads of this test close theirs."""
    clients = [Client() for _ in range(requests_of_provider.AT_ONCE + 3)]
    sent = [begun(client) for client in clients]
    monkeypatch.setattr(requests_of_provider, "REQUEST_SECONDS", 1.5)
    provider.answers["/token"] = lambda: (200, drip())
    statuses: list[int] = []

    def come_back(client: Client, with_: dict[str, str]) -> None:
        statuses.append(came_back(client, with_).status_code)
        connection.close()

    threads = [Thread(target=come_back, args=pair) for pair in zip(clients, sent, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert provider.count("/token") == requests_of_provider.AT_ONCE
    assert statuses == [503] * len(clients)


def test_answers_from_one_address_are_limited(
    client: Client, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "MOST_A_MINUTE", 2)
    provider.answers["/token"] = lambda: (400, iter(()))
    assert [came_back(client, begun(client)).status_code for _ in range(4)] == [400, 400, 503, 503]
    assert provider.count("/token") == 2


def test_answer_that_was_turned_away_is_taken_when_it_is_sent_again(
    client: Client, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code was not sent: neither while answers are limited, nor while requests are."""
    sent = begun(client)
    provider.token = signed(provider.claims(sent["nonce"]))
    with monkeypatch.context() as limited:
        limited.setattr(oidc, "MOST_A_MINUTE", 0)
        assert came_back(client, sent).status_code == 503
    with monkeypatch.context() as limited:
        limited.setattr(requests_of_provider, "_places", BoundedSemaphore(1))
        with requests_of_provider._places:
            assert came_back(client, sent).status_code == 503
    assert provider.count("/token") == 0
    assert came_back(client, sent).status_code == 302
    assert is_signed_in(client)


def test_answer_whose_code_was_sent_is_over_if_keys_cannot_be_fetched(
    client: Client, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> list[dict[str, Any]]:
        raise BusyError

    sent = begun(client)
    provider.token = signed(provider.claims(sent["nonce"]))
    monkeypatch.setattr(oidc, "provider_keys", busy)
    refused(client, came_back(client, sent), "too many requests for keys", status=503)


def test_person_without_a_role_gets_a_page_and_no_account(client: Client, provider: Provider) -> None:
    page = refused(client, signed_in_as(client, provider, groups=["staff"]), "no role", status=403)
    assert "None of your groups has a role here." in page
    assert not Identity.objects.exists()


def test_roles_follow_groups_and_each_change_is_on_record(client: Client, provider: Provider) -> None:
    signed_in_as(client, provider, groups=ADMINISTRATORS)
    user = User.objects.get()
    assert (user.is_staff, user.is_superuser, user.groups.count()) == (True, True, 0)
    # What is given by hand ends, too.
    user.groups.add(Group.objects.get(name="Auditors"))
    user.user_permissions.add(Permission.objects.order_by("pk")[0])
    client.logout()
    signed_in_as(client, provider, groups=[GROUP])
    user.refresh_from_db()
    assert (user.is_staff, user.is_superuser) == (False, False)
    assert [group.name for group in user.groups.all()] == ["Analysts"]
    assert not user.user_permissions.exists()
    client.logout()
    before = last_entry().index
    assert signed_in_as(client, provider, groups=["staff"]).status_code == 403
    assert not user.groups.exists()
    assert not is_signed_in(client)
    actions = [entry.action for entry in Entry.objects.filter(index__gt=before).order_by("index")]
    assert actions == ["permission_changed", "sign_in_failed"]


def test_demoted_administrator_loses_the_role_though_a_group_is_missing(
    client: Client, provider: Provider
) -> None:
    signed_in_as(client, provider, groups=ADMINISTRATORS)
    client.logout()
    Group.objects.filter(name="Analysts").update(name="Analytics")
    assert signed_in_as(client, provider, groups=[GROUP]).status_code == 400
    assert last_entry().details["reason"] == "a group of this site is missing"
    user = User.objects.get()
    assert (user.is_staff, user.is_superuser, user.groups.count()) == (False, False, 0)
    assert signed_in_as(client, provider, sub="another", groups=[GROUP]).status_code == 400
    assert User.objects.count() == 1


def test_flood_of_answers_hides_no_wrong_password(client: Client, provider: Provider) -> None:
    for _ in range(MOST + 5):
        client.get(ANSWER)
    assert Entry.objects.filter(action="sign_in_failed").count() == MOST
    client.post("/sign-in/", {"username": "ana", "password": "wrong"})
    assert (last_entry().action, last_entry().details) == ("sign_in_failed", {})


def test_roles_and_their_entry_are_committed_together(
    client: Client, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in_as(client, provider)
    client.logout()

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("the log is full")

    monkeypatch.setattr("log.audit.accounts.entry_append", fails)
    with pytest.raises(RuntimeError, match="full"):
        signed_in_as(client, provider, groups=["audit"])
    assert [group.name for group in User.objects.get().groups.all()] == ["Analysts"]


def test_person_is_no_local_account_of_the_same_name_or_address(client: Client, provider: Provider) -> None:
    local = account("ida", is_superuser=True, email="ida@example.org")
    signed_in_as(client, provider, email="ida@example.org", email_verified=True)
    assert client.session["_auth_user_id"] != str(local.pk)
    made = User.objects.exclude(pk=local.pk).get()
    assert made.username.startswith("ida-")
    assert not made.is_superuser


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("ida.r@example.org", "ida.r@example.org"),
        *((name, "person-") for name in ("", 7, "a b", "\u0430dmin", "a\u200bb", "x" * 200, "\ud800")),
    ],
)
def test_name_of_an_account_is_one_that_people_can_read(
    client: Client, provider: Provider, name: Any, made: str
) -> None:
    """Mixed scripts, invisible characters and names that look like another's are none."""
    signed_in_as(client, provider, preferred_username=name)
    assert User.objects.get().username.startswith(made)


def test_person_stays_one_account_whatever_the_provider_calls_it(client: Client, provider: Provider) -> None:
    for name in ("ida", "ida-married"):
        signed_in_as(client, provider, preferred_username=name)
        client.logout()
    assert [user.username for user in User.objects.all()] == ["ida"]
    signed_in_as(client, provider, sub="another", preferred_username="ida")
    assert User.objects.count() == 2


def test_another_issuer_has_other_persons(client: Client, provider: Provider, settings: LazySettings) -> None:
    signed_in_as(client, provider)
    Identity.objects.update(issuer="https://former.example")
    client.logout()
    signed_in_as(client, provider)
    assert User.objects.count() == 2


def test_account_that_is_switched_off_stays_out(client: Client, provider: Provider) -> None:
    signed_in_as(client, provider)
    client.logout()
    User.objects.update(is_active=False)
    answer = signed_in_as(client, provider, groups=[ADMINISTRATORS])
    assert answer.status_code == 403
    assert not is_signed_in(client)
    user = User.objects.get()
    assert (user.is_active, user.is_superuser) == (False, False)
    assert (last_entry().subject, last_entry().details["reason"]) == ("ida", "switched off")


def test_organizations_account_has_and_gets_no_password(client: Client, provider: Provider) -> None:
    signed_in_as(client, provider)
    user = User.objects.get()
    for page in ("own-password", "second-factor"):
        answer = client.get(reverse(page))
        assert (answer.status_code, "organization" in page_text(answer)) == (403, True)
        assert reverse(page) not in page_text(client.get("/"))
    user.set_password(PASSWORD)
    with pytest.raises(OrganizationPasswordError):
        user.save()
    admin = Client()
    admin.force_login(account("root", is_staff=True, is_superuser=True))
    new = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    address = reverse("admin:auth_user_password_change", args=[user.pk])
    assert admin.post(address, new).status_code == 403
    assert admin.get(address.replace(f"/{user.pk}/", "/x/")).status_code == 404
    assert not User.objects.get(pk=user.pk).has_usable_password()


def test_second_factor_that_the_provider_does_not_state_is_asked_for_here(
    client: Client, provider: Provider, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SECOND_FACTOR = "administrators"
    answer = signed_in_as(client, provider, "?next=/plan/", groups=[ADMINISTRATORS], amr=["pwd"])
    enrol, code = reverse("sign-in-enrol"), reverse("sign-in-code")
    assert (answer["Location"], is_signed_in(client)) == (enrol, False)
    assert client.get(reverse("own-tokens")).status_code == 302
    client.get(enrol)
    user = User.objects.get()
    secret = begun_secret(user)
    assert secret is not None
    assert client.post(enrol, {"code": "000"}).status_code == 422
    assert not is_signed_in(client)
    now = time.time()
    page = client.post(enrol, {"code": code_of(secret, now)})
    assert "/plan/" in page_text(page)
    assert is_signed_in(client)
    assert last_entry().details == {"with": "organization", "second_factor": "not stated"}
    client.logout()

    # From then on its code is asked for, whatever the role; the proof at the provider outlives that page.
    answer = signed_in_as(client, provider, auth_time=timedelta())
    assert (answer["Location"], is_signed_in(client)) == (code, False)
    assert client.post(code, {"code": code_of(secret, now)}).status_code == 422
    monkeypatch.setattr(clock_of_codes, "now", lambda: datetime.now(UTC) + timedelta(seconds=30))
    assert client.post(code, {"code": code_of(secret, now + 30)}).status_code == 302
    assert is_signed_in(client)
    assert START not in page_text(client.get(reverse("own-tokens")))


@pytest.mark.parametrize(
    ("policy", "group", "amr", "is_asked"),
    [
        ("required", GROUP, None, True),
        ("required", GROUP, "mfa", True),
        ("required", GROUP, ["mfa"], False),
        ("administrators", ADMINISTRATORS, ["pwd", "mfa"], False),
        ("administrators", GROUP, ["pwd"], False),
        ("optional", ADMINISTRATORS, None, False),
        ("off", ADMINISTRATORS, None, False),
    ],
)
def test_second_factor_is_asked_for_if_the_role_must_have_one(
    client: Client,
    provider: Provider,
    settings: LazySettings,
    policy: str,
    group: str,
    amr: Any,
    is_asked: bool,
) -> None:
    settings.SECOND_FACTOR = policy
    answer = signed_in_as(client, provider, groups=[group], amr=amr)
    assert answer["Location"] == (reverse("sign-in-enrol") if is_asked else "/")
    assert is_signed_in(client) is not is_asked


def test_token_needs_a_fresh_proof_at_the_provider(client: Client, provider: Provider) -> None:
    form = {"name": "nightly", "scopes": ["log:read"], "days": "30"}
    signed_in_as(client, provider, auth_time=-HOUR)
    address = reverse("own-tokens")
    page = page_text(client.get(address))
    assert f"{START}?again=1&amp;next={address}" in page
    assert client.post(address, form).status_code == 422
    assert not ApiToken.objects.exists()
    for stale in (None, -HOUR, "now"):
        sent = begun(client, f"?again=1&next={address}")
        assert (sent["prompt"], sent["max_age"]) == ("login", "0")
        provider.token = signed(provider.claims(sent["nonce"], auth_time=stale))
        assert came_back(client, sent).status_code == 400
        assert last_entry().details["reason"] == "time of authentication"
    answer = signed_in_as(client, provider, f"?again=1&next={address}", auth_time=timedelta())
    assert answer["Location"] == address
    assert "Days until it expires" in page_text(client.get(address))
    assert client.post(address, {**form, "days": "31"}).status_code == 422
    assert client.post(address, form).status_code == 200
    assert ApiToken.objects.count() == 1


def test_proof_lasts_minutes(client: Client, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    signed_in_as(client, provider, auth_time=timedelta())
    assert START not in page_text(client.get(reverse("own-tokens")))
    monkeypatch.setattr(proofs, "PROVED_SECONDS", 0)
    assert START in page_text(client.get(reverse("own-tokens")))


def test_token_of_the_organizations_account_lasts_a_month(client: Client, provider: Provider) -> None:
    signed_in_as(client, provider)
    with pytest.raises(FieldError, match="must be 1 to 30 days"):
        token_create(user=User.objects.get(), name="a", scopes=["log:read"], days=31, actor=None)


def test_organizations_account_signs_out_here_and_everywhere(client: Client, provider: Provider) -> None:
    other = Client()
    for each in (client, other):
        signed_in_as(each, provider, auth_time=timedelta())
    client.post(reverse("sign-out"))
    assert (is_signed_in(client), is_signed_in(other)) == (False, True)
    signed_in_as(client, provider, auth_time=timedelta())
    assert client.post(reverse("sign-out-everywhere")).status_code == 302
    assert other.get(reverse("own-tokens")).status_code == 302
    assert last_entry().action == "signed_out_everywhere"
    assert not Entry.objects.filter(details__change="password").exists()


def test_sign_in_leads_to_this_site_only(client: Client, provider: Provider) -> None:
    cyrillic = "/recipes/?q=" + "\u0444" * 100
    answer = signed_in_as(client, provider, f"?next={cyrillic}")
    assert answer["Location"] == f"/recipes/?q={'%D1%84' * 100}"
    client.logout()
    for letters in (150, 400, 900):
        begun(client, "?next=/" + "\u0444" * letters)
        assert len(client.cookies["sign-in"].value) < 3_000
    for wanted in (
        "https://elsewhere.example/",
        "//elsewhere.example",
        "javascript:alert(1)",
        "/" + "a" * 2_000,
    ):
        assert signed_in_as(client, provider, f"?next={wanted}")["Location"] == "/"
        client.logout()


def test_visitor_who_is_signed_in_need_not_go_to_the_provider(client: Client, provider: Provider) -> None:
    signed_in_as(client, provider)
    assert client.get(f"{START}?next=/plan/")["Location"] == "/plan/"


def test_site_without_a_provider_has_no_button_and_no_address(client: Client) -> None:
    assert "organization" not in page_text(client.get("/sign-in/"))
    assert [client.get(address).status_code for address in (START, ANSWER)] == [404, 404]


def test_https_has_a_cookie_that_no_other_host_can_set(
    client: Client, provider: Provider, settings: LazySettings
) -> None:
    settings.SESSION_COOKIE_SECURE = True
    begun(client)
    cookie = client.cookies["__Host-sign-in"]
    assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Lax")
    assert (cookie["path"], cookie["domain"]) == ("/", "")


def test_visitors_who_only_begin_leave_no_session(client: Client, provider: Provider) -> None:
    begun(client)
    assert "sessionid" not in client.cookies
