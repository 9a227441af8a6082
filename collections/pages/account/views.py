"""Pages of one's own account: the password, the end of all sessions, and API tokens."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from accounts.api_tokens.operations import token_create, token_revoke
from accounts.api_tokens.selectors import tokens_of
from accounts.operations import password_change
from log.audit.access import signed_in_user
from log.audit.sessions import PasswordChangedError, sessions_end
from pages.access import AccessCheckedView
from pages.account.forms import OwnPasswordForm, SignOutForm, TokenForm
from panprivacy.formats.errors import FieldError


class OwnView(AccessCheckedView):
    """A page of one's own account."""

    def may_access(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        """Every signed-in account; the base class has checked that."""
        return True


class PasswordOwnersView(OwnView):
    """The same, for accounts with a password of this site."""

    refusal = "Your account has no password here: you sign in with your organization's account."

    def may_access(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        return isinstance(user, AbstractBaseUser) and user.has_usable_password()


class OwnPasswordView(PasswordOwnersView):
    """Change one's own password. Every other session of the account ends with it, like its old key, and every
    API token."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return _page(request, OwnPasswordForm(request))

    def post(self, request: HttpRequest) -> HttpResponse:
        form = OwnPasswordForm(request, request.POST)
        if not form.is_valid():
            return _page(request, form, status=422)
        user, password = signed_in_user(request), form.cleaned_data["new_password1"]
        try:
            user = password_change(user=user, password=password)
        except PasswordChangedError:
            form.add_error("old_password", "It was changed meanwhile, or your account switched off.")
            return _page(request, form, status=422)
        update_session_auth_hash(request, user)
        messages.success(
            request,
            "Your password is changed. You are signed out everywhere else, and your API tokens have ended.",
        )
        return redirect("own-password")


class SignOutEverywhereView(OwnView):
    """End every session of the account, this one too.

    The password stays, under a new salt: every session carries a hash of what is stored of it.
    """

    def get(self, request: HttpRequest) -> HttpResponse:
        return _sign_out_page(request, SignOutForm(request))

    def post(self, request: HttpRequest) -> HttpResponse:
        user = signed_in_user(request)
        form = SignOutForm(request, request.POST)
        if not form.is_valid():
            return _sign_out_page(request, form, status=422)
        try:
            sessions_end(user=user, password=form.cleaned_data.get("password"))
        except PasswordChangedError:
            form.add_error(None, "Your password was changed meanwhile, which ended all other sessions.")
            return _sign_out_page(request, form, status=422)
        logout(request)
        messages.success(request, "You are signed out everywhere.")
        return redirect("sign-in")


def _sign_out_page(request: HttpRequest, form: SignOutForm, status: int = 200) -> HttpResponse:
    return render(request, "registration/everywhere.html", {"form": form}, status=status)


class OwnTokensView(OwnView):
    """One's own API tokens, and a new one."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return _tokens_page(request, TokenForm(request))

    def post(self, request: HttpRequest) -> HttpResponse:
        user = signed_in_user(request)
        form = TokenForm(request, request.POST)
        if form.is_valid():
            cleaned = form.cleaned_data
            try:
                token, text = token_create(
                    user=user,
                    name=cleaned["name"],
                    scopes=cleaned["scopes"],
                    days=cleaned["days"],
                    actor=user,
                )
            except FieldError as error:
                form.add_field_error(error)
            else:
                # In the answer itself and nowhere else: a redirect would have to keep it until then.
                return _tokens_page(request, TokenForm(request), made=token, text=text)
        return _tokens_page(request, form, status=422)


class OwnTokenRevokeView(OwnView):
    """Revoke one of one's own tokens."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, prefix: str) -> HttpResponse:
        user = signed_in_user(request)
        token = token_revoke(token=get_object_or_404(tokens_of(user), prefix=prefix), actor=user)
        messages.success(request, f"The token “{token.name}” is revoked.")
        return redirect("own-tokens")


def _tokens_page(request: HttpRequest, form: TokenForm, status: int = 200, **made: Any) -> HttpResponse:
    now = timezone.now()
    tokens = [(token, token.ended(now)) for token in tokens_of(signed_in_user(request))]
    return render(
        request, "registration/tokens.html", {"form": form, "tokens": tokens, **made}, status=status
    )


def _page(request: HttpRequest, form: OwnPasswordForm, status: int = 200) -> HttpResponse:
    return render(request, "registration/password.html", {"form": form}, status=status)
