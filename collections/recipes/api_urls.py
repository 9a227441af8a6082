from django.urls import path

from recipes.api import RecipeListView, RecipeView, VerificationKeyView
from recipes.drafts_api import DraftListView, DraftView

urlpatterns = [
    path("verification-key/", VerificationKeyView.as_view(), name="api-verification-key"),
    path("recipes/", RecipeListView.as_view(), name="api-recipes"),
    path("recipes/drafts/", DraftListView.as_view(), name="api-drafts"),
    path("recipes/drafts/<int:number>/", DraftView.as_view(), name="api-draft"),
    path("recipes/<identifier:identifier>/", RecipeView.as_view(), name="api-recipe"),
]
