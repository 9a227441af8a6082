"""Every address of the product, by app."""

from django.contrib import admin
from django.urls import include, path, register_converter

from pages.admin_sign_in import AdminPasswordView, AdminSignInView
from recipes.converters import IdentifierConverter

register_converter(IdentifierConverter, "identifier")

urlpatterns = [
    path("api/v1/", include("recipes.api_urls")),
    path("api/v1/", include("publishing.api_urls")),
    path("api/v1/", include("results.api_urls")),
    path("api/v1/", include("ledger.api_urls")),
    path("api/v1/", include("log.audit.api_urls")),
    path("api/v1/", include("recipes.planner.api_urls")),
    path("api/v1/", include("reports.urls")),
    path("api/v1/", include("streams.api_urls")),
    path("api/v1/", include("accounts.api_urls")),
    path("api/v1/", include("series.api_urls")),
    path("api/v1/", include("simulations.api_urls")),
    path("api/v1/", include("notifications.api_urls")),
    path("api/v1/", include("pages.dashboards.api_urls")),
    path("admin/login/", AdminSignInView.as_view()),
    path("admin/password_change/", AdminPasswordView.as_view()),
    path("admin/", admin.site.urls),
    path("", include("pages.overview.urls")),
    path("", include("pages.dashboards.urls")),
    path("", include("pages.account.urls")),
    path("", include("pages.notifications.urls")),
    path("", include("pages.feed.urls")),
    path("", include("pages.log.urls")),
    path("", include("pages.transparency.urls")),
    path("", include("pages.populations.urls")),
    path("", include("pages.new.urls")),
    path("", include("pages.publish.urls")),
    path("", include("pages.plan.urls")),
    path("", include("pages.papers.urls")),
    path("", include("pages.recipe.urls")),
    path("", include("pages.compare.urls")),
    path("", include("pages.series.urls")),
    path("", include("pages.simulate.urls")),
    path("", include("pages.try_it.urls")),
    path("", include("partners.ohttp.gateway.urls")),
    path("", include("panapp.operations_urls")),
]

handler400 = "web.errors.bad_request"
handler403 = "web.errors.forbidden"
handler404 = "web.errors.not_found"
handler500 = "web.errors.server_error"
