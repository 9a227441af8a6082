from django.urls import path

from series.api import SeriesListView, SeriesView

urlpatterns = [
    path("series/", SeriesListView.as_view(), name="api-series-list"),
    path("series/<slug:identifier>/", SeriesView.as_view(), name="api-series"),
]
