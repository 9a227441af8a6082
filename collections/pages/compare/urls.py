from django.urls import path

from pages.compare.views import CompareView, ComparisonCsvView

urlpatterns = [
    path("compare/", CompareView.as_view(), name="compare"),
    path("compare/comparison.csv", ComparisonCsvView.as_view(), name="comparison-csv"),
]
