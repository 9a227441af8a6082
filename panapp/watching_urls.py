"""What serves operators in every role: health and metrics."""

from django.urls import path

from panapp.health import live, ready
from panapp.metrics import metrics

urlpatterns = [
    path("health/live", live, name="health-live"),
    path("health/ready", ready, name="health-ready"),
    path("metrics", metrics, name="metrics"),
]
