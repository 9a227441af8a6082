from django.urls import path

from recipes.api import RecipeListView, RecipeView, VerificationKeyView

urlpatterns = [
    path("verification-key/", VerificationKeyView.as_view(), name="api-verification-key"),
    path("recipes/", RecipeListView.as_view(), name="api-recipes"),
    path("recipes/<identifier:identifier>/", RecipeView.as_view(), name="api-recipe"),
]
