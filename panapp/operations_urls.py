"""What serves operators, client developers and browsers: health, metrics, the API's description, an icon."""

from django.templatetags.static import static
from django.urls import path
from django.utils.functional import lazy
from django.views.generic import RedirectView

from pages.api_docs import ApiDocsView, SchemaView
from panapp.watching_urls import urlpatterns as watching

# Resolved at each request: in production its name has a hash that `collectstatic` makes.
_ICON = lazy(static, str)("icon.svg")

urlpatterns = [
    *watching,
    path("api/schema/", SchemaView.as_view(), name="schema"),
    # Browsers ask for it on pages that name no icon, such as the admin's and JSON.
    path("favicon.ico", RedirectView.as_view(url=_ICON), name="favicon"),
    path("api/docs/", ApiDocsView.as_view(), name="api-docs"),
]
