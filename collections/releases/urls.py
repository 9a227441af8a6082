from django.urls import path

from releases.views import CloseView, OverviewView, ProgressView, RecipeView, ResultCsvView, ResultJsonView

urlpatterns = [
    path("", OverviewView.as_view(), name="overview"),
    path("recipes/<identifier:identifier>/", RecipeView.as_view(), name="recipe"),
    path("recipes/<identifier:identifier>/progress/", ProgressView.as_view(), name="recipe-progress"),
    path("recipes/<identifier:identifier>/close/", CloseView.as_view(), name="recipe-close"),
    path("recipes/<identifier:identifier>/result.csv", ResultCsvView.as_view(), name="result-csv"),
    path("recipes/<identifier:identifier>/result.json", ResultJsonView.as_view(), name="result-json"),
]
