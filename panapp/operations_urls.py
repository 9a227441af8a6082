"""What serves operators and developers of clients: health, metrics, the API's description."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView

from panapp.api_docs import ApiDocsView
from panapp.health import live, ready
from panapp.metrics import metrics

urlpatterns = [
    path("health/live", live, name="health-live"),
    path("health/ready", ready, name="health-ready"),
    path("metrics", metrics, name="metrics"),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs/", ApiDocsView.as_view(), name="api-docs"),
]
