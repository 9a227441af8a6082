from django.urls import path

from releases.api import ResultView, WithholdView

urlpatterns = [
    path("recipes/<identifier:identifier>/result/", ResultView.as_view(), name="api-result"),
    path("recipes/<identifier:identifier>/withhold/", WithholdView.as_view(), name="api-withhold"),
]
