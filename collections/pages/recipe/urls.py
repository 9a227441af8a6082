from django.urls import path
from django.views.decorators.cache import never_cache

from pages.recipe.held_views import HeldView
from pages.recipe.intrusion_views import AnnounceView, SeenFileView, SeenView
from pages.recipe.views import (
    CloseView,
    PrivacyView,
    ProgressView,
    RecordView,
    ResultCsvView,
    ResultJsonView,
    ResultSvgView,
    ResultView,
    TakePartView,
    VerifyView,
)

urlpatterns = [
    path("recipes/<identifier:identifier>/", ResultView.as_view(), name="recipe"),
    path("recipes/<identifier:identifier>/privacy/", PrivacyView.as_view(), name="recipe-privacy"),
    path("recipes/<identifier:identifier>/record/", RecordView.as_view(), name="recipe-record"),
    path("recipes/<identifier:identifier>/verify/", VerifyView.as_view(), name="recipe-verify"),
    path("recipes/<identifier:identifier>/take-part/", TakePartView.as_view(), name="recipe-take-part"),
    path("recipes/<identifier:identifier>/progress/", ProgressView.as_view(), name="recipe-progress"),
    path("recipes/<identifier:identifier>/close/", CloseView.as_view(), name="recipe-close"),
    path("recipes/<identifier:identifier>/held/", HeldView.as_view(), name="recipe-held"),
    path("recipes/<identifier:identifier>/intrusions/", AnnounceView.as_view(), name="recipe-announce"),
    # What was seen of a state is for those who may see it: no browser or proxy is to keep a copy.
    path(
        "recipes/<identifier:identifier>/intrusions/<int:number>/",
        never_cache(SeenView.as_view()),
        name="recipe-intrusion",
    ),
    path(
        "recipes/<identifier:identifier>/intrusions/<int:number>/state.bin",
        never_cache(SeenFileView.as_view()),
        name="recipe-intrusion-file",
    ),
    path("recipes/<identifier:identifier>/result.csv", ResultCsvView.as_view(), name="result-csv"),
    path("recipes/<identifier:identifier>/result.svg", ResultSvgView.as_view(), name="result-svg"),
    path("recipes/<identifier:identifier>/result.json", ResultJsonView.as_view(), name="result-json"),
]
