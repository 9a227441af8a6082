"""Every address of a helper: its resources of DAP, its status, and what serves operators."""

from django.urls import include, path

from pages.status.helper import PAGES
from panapp.health import live, ready
from panapp.metrics import metrics

urlpatterns = [
    *PAGES.urls(),
    path("helper/", include("helper.urls")),
    path("health/live", live, name="health-live"),
    path("health/ready", ready, name="health-ready"),
    path("metrics", metrics, name="metrics"),
]

handler400 = "web.problem_errors.bad_request"
handler403 = "web.problem_errors.forbidden"
handler404 = "web.problem_errors.not_found"
handler500 = "web.problem_errors.server_error"
