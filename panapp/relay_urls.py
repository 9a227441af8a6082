"""Every address of a relay: its resources, its status, and what serves operators."""

from django.urls import include, path

from pages.status.relay import status_html, status_json
from panapp.watching_urls import urlpatterns as watching
from web.problem_errors import handler400, handler403, handler404, handler500

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [
    path("", status_html, name="relay-status"),
    path("status.json", status_json, name="relay-status-json"),
    path("relay/", include("partners.ohttp.relay.urls")),
    *watching,
]
