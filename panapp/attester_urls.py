"""Every address of an attester: its resources, its status, and what serves operators."""

from django.urls import include, path

from pages.status.attester import status_html, status_json
from panapp.watching_urls import urlpatterns as watching
from web.problem_errors import handler400, handler403, handler404, handler500

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [
    path("", status_html, name="attester-status"),
    path("status.json", status_json, name="attester-status-json"),
    path("attester/", include("tokens.attester.urls")),
    *watching,
]
