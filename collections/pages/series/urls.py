from django.urls import path, re_path

from pages.series.rounds_views import (
    DraftRoundsPreviewView,
    DraftRoundsView,
    DraftSeriesPreviewView,
    DraftSeriesView,
)
from pages.series.views import (
    NewSeriesView,
    ProposalView,
    SeriesListView,
    SeriesMarkView,
    SeriesStopView,
    SeriesView,
)

ONE = r"^series/(?P<identifier>[0-9a-f]{16})/"

urlpatterns = [
    path("series/", SeriesListView.as_view(), name="series-list"),
    path("series/proposals/<int:pk>/", ProposalView.as_view(), name="series-proposal"),
    path("recipes/drafts/<int:pk>/rounds/", DraftRoundsView.as_view(), name="draft-rounds"),
    path(
        "recipes/drafts/<int:pk>/rounds/preview/",
        DraftRoundsPreviewView.as_view(),
        name="draft-rounds-preview",
    ),
    path("recipes/drafts/<int:pk>/series/", DraftSeriesView.as_view(), name="draft-series"),
    path(
        "recipes/drafts/<int:pk>/series/preview/",
        DraftSeriesPreviewView.as_view(),
        name="draft-series-preview",
    ),
    path("recipes/<identifier:identifier>/repeat/", NewSeriesView.as_view(), name="series-new"),
    re_path(ONE + "$", SeriesView.as_view(), name="series"),
    re_path(ONE + "stop/$", SeriesStopView.as_view(), name="series-stop"),
    re_path(ONE + "mark/$", SeriesMarkView.as_view(), name="series-mark"),
]
