from django.urls import path

from releases.api import ResultView, WithholdView
from releases.comparisons_api import ComparisonView

urlpatterns = [
    path("comparisons/", ComparisonView.as_view(), name="api-comparison"),
    path("recipes/<identifier:identifier>/result/", ResultView.as_view(), name="api-result"),
    path("recipes/<identifier:identifier>/withhold/", WithholdView.as_view(), name="api-withhold"),
]
