"""Every address of the product, by app."""

from django.contrib import admin
from django.urls import include, path, register_converter

from recipes.converters import IdentifierConverter

register_converter(IdentifierConverter, "identifier")

urlpatterns = [
    path("api/v1/", include("recipes.api_urls")),
    path("api/v1/", include("ledger.api_urls")),
    path("api/v1/", include("planner.api_urls")),
    path("api/v1/", include("reports.urls")),
    path("admin/", admin.site.urls),
    path("", include("audit.urls")),
    path("", include("ledger.urls")),
    path("", include("recipes.urls")),
    path("", include("planner.urls")),
    path("", include("planner.papers_urls")),
    path("", include("releases.urls")),
    path("", include("panapp.operations_urls")),
]

handler400 = "panapp.errors.bad_request"
handler403 = "panapp.errors.forbidden"
handler404 = "panapp.errors.not_found"
handler500 = "panapp.errors.server_error"
