"""What every role answers: health and metrics for its operators, its public log and its witness."""

from django.urls import include, path

from panapp.health import live, ready
from web.metrics import metrics

urlpatterns = [
    path("health/live", live, name="health-live"),
    path("health/ready", ready, name="health-ready"),
    path("metrics", metrics, name="metrics"),
    path("", include("log.public_log.urls")),
]
