from django.urls import path

from streams.api import IntrusionsView, SeenView

urlpatterns = [
    path("recipes/<identifier:identifier>/intrusions/", IntrusionsView.as_view(), name="api-intrusions"),
    path(
        "recipes/<identifier:identifier>/intrusions/<int:intrusion>/state/",
        SeenView.as_view(),
        name="api-intrusion-state",
    ),
]
