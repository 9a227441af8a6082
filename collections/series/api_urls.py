from django.urls import path

from series.api import (
    RecipeSeriesView,
    SeriesAskApprovalView,
    SeriesListView,
    SeriesMarkView,
    SeriesStopView,
    SeriesView,
)

urlpatterns = [
    path("series/", SeriesListView.as_view(), name="api-series-list"),
    path("series/ask-approval/", SeriesAskApprovalView.as_view(), name="api-series-ask-approval"),
    path("series/<slug:series>/", SeriesView.as_view(), name="api-series"),
    path("series/<slug:series>/stop/", SeriesStopView.as_view(), name="api-series-stop"),
    path("series/<slug:series>/mark/", SeriesMarkView.as_view(), name="api-series-mark"),
    path("recipes/<identifier:identifier>/series/", RecipeSeriesView.as_view(), name="api-recipe-series"),
]
