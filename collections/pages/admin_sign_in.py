"""The admin's own pages for signing in and for passwords, which would pass by the second factor: the site's
take their place."""

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views import View
from django.views.generic import RedirectView

from web.paging import text_of


class AdminSignInView(View):
    """Sign in on the site's page, then come back. A person who is already signed in does not need
    this page."""

    def dispatch(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated and not request.user.is_staff:
            raise PermissionDenied("Only administrators may use the admin.")
        return redirect_to_login(text_of(request.GET, "next") or reverse("admin:index"))


class AdminPasswordView(RedirectView):
    """One's own password, on the site's page."""

    pattern_name = "own-password"
