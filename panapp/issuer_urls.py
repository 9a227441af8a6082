"""Every address of an issuer: its resources, its keys for capsules, its status, and what serves operators."""

from django.urls import include, path

from pages.status.issuer import PAGES
from panapp.watching_urls import urlpatterns as watching
from web.problem_errors import handler400, handler403, handler404, handler500

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [
    *PAGES.urls(),
    path("issuer/", include("tokens.issuer.urls")),
    path("", include("partners.ohttp.gateway.urls")),
    *watching,
]
