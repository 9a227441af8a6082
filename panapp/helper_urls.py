"""Every address of a helper: its resources of DAP, its status, and what serves operators."""

from django.urls import include, path

from helper.pages import PAGES
from panapp.health import live, ready
from panapp.metrics import metrics

urlpatterns = [
    *PAGES.urls(),
    path("helper/", include("helper.urls")),
    path("health/live", live, name="health-live"),
    path("health/ready", ready, name="health-ready"),
    path("metrics", metrics, name="metrics"),
]

handler400 = "panapp.problem_errors.bad_request"
handler403 = "panapp.problem_errors.forbidden"
handler404 = "panapp.problem_errors.not_found"
handler500 = "panapp.problem_errors.server_error"
