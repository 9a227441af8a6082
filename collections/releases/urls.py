from django.urls import path

from releases.intrusion_views import AnnounceView, SeenFileView, SeenView
from releases.views import CloseView, OverviewView, ProgressView, RecipeView, ResultCsvView, ResultJsonView

urlpatterns = [
    path("", OverviewView.as_view(), name="overview"),
    path("recipes/<identifier:identifier>/", RecipeView.as_view(), name="recipe"),
    path("recipes/<identifier:identifier>/progress/", ProgressView.as_view(), name="recipe-progress"),
    path("recipes/<identifier:identifier>/close/", CloseView.as_view(), name="recipe-close"),
    path("recipes/<identifier:identifier>/intrusions/", AnnounceView.as_view(), name="recipe-announce"),
    path(
        "recipes/<identifier:identifier>/intrusions/<int:number>/",
        SeenView.as_view(),
        name="recipe-intrusion",
    ),
    path(
        "recipes/<identifier:identifier>/intrusions/<int:number>/state.msgpack",
        SeenFileView.as_view(),
        name="recipe-intrusion-file",
    ),
    path("recipes/<identifier:identifier>/result.csv", ResultCsvView.as_view(), name="result-csv"),
    path("recipes/<identifier:identifier>/result.json", ResultJsonView.as_view(), name="result-json"),
]
