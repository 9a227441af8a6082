"""Signing in at the organization's provider (OpenID Connect, authorization code).

What must be the same when the browser comes back is in a signed cookie: visitors leave no row in the
database. A link starts it, not a form: the site's pages may send forms to this site only.
"""

import secrets
import time
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import structlog
from axes.helpers import get_client_ip_address
from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.utils.encoding import iri_to_uri
from django.utils.http import url_has_allowed_host_and_scheme
from django.views import View
from django.views.decorators.cache import never_cache

from accounts.oidc.configuration import Organization
from accounts.oidc.id_tokens import LEEWAY_SECONDS, Person, person_of
from accounts.oidc.operations import account_sign_in
from accounts.oidc.provider import authorization_address, id_token, provider_keys
from accounts.oidc.refusals import (
    NoRoleError,
    ProviderRefusedError,
    ProviderSilentError,
    SignInRefusedError,
    SwitchedOffError,
)
from log.audit.sign_in import ORGANIZATION, record_refused_sign_in
from pages.account.sign_in import first_step_passed
from web.busy import BusyError
from web.request_counts import times_asked

logger = structlog.get_logger(__name__)

ATTEMPT_SECONDS = 600
"""For which a person may be at the provider."""

LONGEST_CODE = 4_096
LONGEST_NEXT = 1_000

MOST_A_MINUTE = 60
"""Answers from one address that are taken to the provider: many people may share one."""

BACKEND = "accounts.sign_in.SharingBackend"
"""From which sessions load their account."""

_SALT = "pages.account.oidc"


@dataclass(frozen=True)
class Attempt:
    """A browser that was sent to the provider.

    Attributes:
        state, nonce, verifier: random; of this attempt only.
        again: whether the provider must ask for credentials.
        onward: the address that the person wanted.
        begun: seconds since 1970.
    """

    state: str
    nonce: str
    verifier: str
    again: bool
    onward: str
    begun: float


@method_decorator(never_cache, name="dispatch")
class ProviderSignInView(View):
    """Send the browser to the provider. With `again`, the provider asks for credentials in any case."""

    http_method_names = ("get",)

    def get(self, request: HttpRequest) -> HttpResponse:
        organization, again = _organization(), "again" in request.GET
        onward = _onward(request)
        if request.user.is_authenticated and not again:
            return redirect(onward)
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        attempt = Attempt(state, nonce, verifier, again=again, onward=onward, begun=time.time())
        try:
            address = authorization_address(
                organization,
                redirect_uri=_redirect_uri(request),
                state=attempt.state,
                nonce=attempt.nonce,
                verifier=attempt.verifier,
                again=again,
            )
        except SignInRefusedError as error:
            return _refused(request, error)
        response = redirect(address)
        response.set_cookie(
            _cookie(),
            signing.dumps(asdict(attempt), salt=_SALT),
            max_age=ATTEMPT_SECONDS,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            # The provider's answer is a navigation from its site.
            samesite="Lax",
        )
        return response


@method_decorator(never_cache, name="dispatch")
class ProviderAnswerView(View):
    """The browser comes back from the provider, with a code or an error."""

    http_method_names = ("get",)

    def get(self, request: HttpRequest) -> HttpResponse:
        organization = _organization()
        try:
            attempt = _attempt(request, organization)
            person = _person(request, organization, attempt)
            user = account_sign_in(organization=organization, person=person)
        except SignInRefusedError as error:
            response = _refused(request, error)
        else:
            response = _signed_in(request, user, person, attempt.onward)
        response.delete_cookie(_cookie())
        return response


def _organization() -> Organization:
    organization: Organization | None = settings.OIDC
    if organization is None:
        raise Http404("This site has accounts of its own only.")
    return organization


def _cookie() -> str:
    # With this prefix no other host of the domain can set it; browsers take it over https only.
    return "__Host-sign-in" if settings.SESSION_COOKIE_SECURE else "sign-in"


def _redirect_uri(request: HttpRequest) -> str:
    # On the host at which the browser has the cookie; the provider compares it with the one of the start.
    return request.build_absolute_uri(reverse("sign-in-organization-answer"))


def _onward(request: HttpRequest) -> str:
    # Percent-encoded: the cookie that holds it would take 8 bytes for one letter that is not ASCII.
    wanted = iri_to_uri(request.GET.get("next", ""))
    is_ours = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if is_ours and len(wanted) <= LONGEST_NEXT else reverse(settings.LOGIN_REDIRECT_URL)


def _attempt(request: HttpRequest, organization: Organization) -> Attempt:
    """The attempt that this answer ends."""
    try:
        fields: dict[str, Any] = signing.loads(
            request.COOKIES.get(_cookie(), ""), salt=_SALT, max_age=ATTEMPT_SECONDS
        )
    except signing.BadSignature:
        raise SignInRefusedError("state") from None
    attempt = Attempt(**fields)
    if not constant_time_compare(request.GET.get("state", ""), attempt.state):
        raise SignInRefusedError("state")
    if request.GET.get("iss", organization.issuer) != organization.issuer:  # RFC 9207
        raise SignInRefusedError("issuer")
    return attempt


def _person(request: HttpRequest, organization: Organization, attempt: Attempt) -> Person:
    code = request.GET.get("code", "")
    if "error" in request.GET:
        raise ProviderRefusedError
    if not (0 < len(code) <= LONGEST_CODE and code.isascii() and code.isprintable()):
        raise SignInRefusedError("no code")
    asker = get_client_ip_address(request) or ""
    if times_asked("oidc-answers", asker, seconds=60, now=timezone.now()) > MOST_A_MINUTE:
        raise BusyError
    token = _token(request, organization, attempt, code)
    try:
        person = person_of(
            token,
            organization=organization,
            keys=partial(provider_keys, organization),
            nonce=attempt.nonce,
            begun=attempt.begun,
            now=time.time(),
        )
    except BusyError:
        # The code is spent, so the same answer must not be sent again.
        raise ProviderSilentError("too many requests for keys") from None
    if attempt.again and (person.authenticated_at or 0) < attempt.begun - LEEWAY_SECONDS:
        raise SignInRefusedError("time of authentication")
    return person


def _token(request: HttpRequest, organization: Organization, attempt: Attempt, code: str) -> str:
    """The ID token of an attempt, once."""
    used = f"oidc-attempt-{sha256(attempt.state.encode()).hexdigest()}"
    if not cache.add(used, 1, ATTEMPT_SECONDS):
        raise SignInRefusedError("state used")
    try:
        return id_token(
            organization, code=code, redirect_uri=_redirect_uri(request), verifier=attempt.verifier
        )
    except BusyError:
        # The code was not sent: the browser may send the same answer again.
        cache.delete(used)
        raise


def _signed_in(request: HttpRequest, user: User, person: Person, onward: str) -> HttpResponse:
    stated = "stated" if person.second_factor else "not stated"
    return first_step_passed(
        request,
        user,
        backend=BACKEND,
        onward=onward,
        details={"with": ORGANIZATION, "second_factor": stated},
        authenticated_at=person.authenticated_at,
        has_second_factor=person.second_factor,
    )


def _refused(request: HttpRequest, error: SignInRefusedError) -> HttpResponse:
    account = error.account if isinstance(error, SwitchedOffError) else ""
    record_refused_sign_in(account=account, reason=str(error))
    logger.warning("organization_sign_in_refused", reason=str(error))
    provider = urlsplit(_organization().issuer).hostname
    status, reason = 400, f"The answer of {provider} was refused ({error}). Sign in once more."
    if isinstance(error, NoRoleError):
        status, reason = 403, "None of your groups has a role here. Ask the administrators of your accounts."
    elif isinstance(error, SwitchedOffError):
        status, reason = 403, "Your account is switched off here. Ask an administrator of this site."
    elif isinstance(error, ProviderRefusedError):
        status, reason = 403, f"{provider} did not sign you in."
    elif isinstance(error, ProviderSilentError):
        status, reason = (
            503,
            f"{provider} does not answer properly. Try later. Local accounts still work.",
        )
    return render(request, "registration/organization_refused.html", {"reason": reason}, status=status)
