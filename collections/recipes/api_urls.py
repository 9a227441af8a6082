from django.urls import path

from recipes.api import RecipeListView, RecipeView, VerificationKeyView
from recipes.drafts_api import DraftListView, DraftView
from recipes.tags_api import DraftTagsView, RecipeTagsView

urlpatterns = [
    path("verification-key/", VerificationKeyView.as_view(), name="api-verification-key"),
    path("recipes/", RecipeListView.as_view(), name="api-recipes"),
    path("recipes/drafts/", DraftListView.as_view(), name="api-drafts"),
    path("recipes/drafts/<int:number>/", DraftView.as_view(), name="api-draft"),
    path("recipes/drafts/<int:number>/tags/", DraftTagsView.as_view(), name="api-draft-tags"),
    path("recipes/<identifier:identifier>/", RecipeView.as_view(), name="api-recipe"),
    path("recipes/<identifier:identifier>/tags/", RecipeTagsView.as_view(), name="api-recipe-tags"),
]
