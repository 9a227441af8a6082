from django.urls import path

from series.api import (
    RecipeSeriesView,
    SeriesAskApprovalView,
    SeriesListView,
    SeriesMarkView,
    SeriesStopView,
    SeriesView,
)
from series.rounds_api import (
    InputProofView,
    PublicInputView,
    RoundsDocumentView,
    RoundsProofView,
    SeriesInputView,
)

urlpatterns = [
    path("series/", SeriesListView.as_view(), name="api-series-list"),
    path("series/ask-approval/", SeriesAskApprovalView.as_view(), name="api-series-ask-approval"),
    path("series/<slug:series>/", SeriesView.as_view(), name="api-series"),
    path("series/<slug:series>/stop/", SeriesStopView.as_view(), name="api-series-stop"),
    path("series/<slug:series>/mark/", SeriesMarkView.as_view(), name="api-series-mark"),
    path("recipes/<identifier:identifier>/series/", RecipeSeriesView.as_view(), name="api-recipe-series"),
    path("series/<slug:series>/input/", SeriesInputView.as_view(), name="api-series-input"),
    path("rounds/<identifier:identifier>/", RoundsDocumentView.as_view(), name="api-rounds"),
    path("rounds/<identifier:identifier>/proof/", RoundsProofView.as_view(), name="api-rounds-proof"),
    path("round-inputs/<identifier:identifier>/", PublicInputView.as_view(), name="api-round-input"),
    path(
        "round-inputs/<identifier:identifier>/proof/", InputProofView.as_view(), name="api-round-input-proof"
    ),
]
