"""Every address of a shuffler: its resources, its status, and what serves operators."""

from django.urls import include, path

from pages.status.shuffler import PAGES
from panapp.watching_urls import urlpatterns as watching
from web.problem_errors import handler400, handler403, handler404, handler500

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [
    *PAGES.urls(),
    path("shuffler/", include("shuffle.shuffler.urls")),
    path("", include("partners.ohttp.gateway.urls")),
    *watching,
]
