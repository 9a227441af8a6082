"""One's own second factor: set it up, make new recovery codes, switch it off."""

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.second_factor.operations import (
    FactorStateError,
    SecondFactorError,
    factor_remove,
    recovery_codes_make,
)
from accounts.second_factor.selectors import OFF, factor_of, factor_required
from log.audit.access import signed_in_user
from log.audit.sessions import other_sessions_end
from pages.account.enrolment import (
    enrolment_begin,
    enrolment_confirm,
    enrolment_context,
    enrolment_secret,
)
from pages.account.forms import ProofForm
from pages.account.proofs import code_field
from pages.account.views import PasswordOwnersView


@method_decorator([never_cache, sensitive_post_parameters("code", "password")], name="dispatch")
class SecondFactorView(PasswordOwnersView):
    """Its state, and what can be done."""

    refusal = (
        "You sign in with your organization's account. An administrator can reset its second factor here."
    )

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._page(request, ProofForm(request))

    def post(self, request: HttpRequest) -> HttpResponse:
        user, action = signed_in_user(request), request.POST.get("action")
        if action == "confirm":
            return self._confirm(request)
        form = ProofForm(request, request.POST)
        if not form.is_valid():
            return self._page(request, form, status=422)
        try:
            if action == "begin":
                enrolment_begin(request, user)
            elif action == "codes":
                return _codes_page(request, recovery_codes_make(user=user))
            elif action == "remove" and not factor_required(user):
                factor_remove(user=user, actor=user)
                self._rotate(request)
                messages.success(request, "Your second factor is switched off. You are signed out elsewhere.")
        except FactorStateError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        return redirect("second-factor")

    def _confirm(self, request: HttpRequest) -> HttpResponse:
        try:
            codes = enrolment_confirm(request, signed_in_user(request), request.POST.get("code", "")[:40])
        except SecondFactorError:
            problem = "This code is wrong. Does the clock of the phone go right?"
            return self._page(request, ProofForm(request), problem, status=422)
        except FactorStateError as error:
            messages.info(request, f"Nothing was changed: {error}.")
            return redirect("second-factor")
        self._rotate(request)
        return _codes_page(request, codes)

    def _rotate(self, request: HttpRequest) -> None:
        request.session.cycle_key()
        other_sessions_end(user=signed_in_user(request), but=str(request.session.session_key))

    def _page(
        self, request: HttpRequest, form: ProofForm, problem: str = "", status: int = 200
    ) -> HttpResponse:
        if settings.SECOND_FACTOR == OFF:
            raise Http404("This site asks for no second factor.")
        user = signed_in_user(request)
        factor, secret = factor_of(user), enrolment_secret(request, user)
        context = {
            "form": form,
            "factor": factor,
            "left": 0 if factor is None else factor.recovery_codes.count(),
            "required": factor_required(user),
            "problem": problem,
            "help": code_field().help_text,
            **({} if factor or secret is None else enrolment_context(user, secret)),
        }
        return render(request, "registration/second_factor.html", context, status=status)


def _codes_page(request: HttpRequest, codes: list[str]) -> HttpResponse:
    # In the answer itself and nowhere else: a redirect would have to keep them until then.
    return render(request, "registration/recovery_codes.html", {"codes": codes, "onward": "/second-factor/"})
