"""Every address of a helper: its resources of DAP, its status, and what serves operators."""

from django.urls import include, path

from pages.status.helper import PAGES
from panapp.watching_urls import urlpatterns as watching
from web.problem_errors import handler400, handler403, handler404, handler500

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [
    *PAGES.urls(),
    path("helper/", include("dap.helper.urls")),
    path("helper/", include("joint_key.helper.urls")),
    path("", include("partners.ohttp.gateway.urls")),
    *watching,
]
