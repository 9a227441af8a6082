from django.urls import path

from pages.publish.views import (
    ApprovalView,
    DraftDeleteView,
    DraftEditView,
    DraftView,
    NewRecipeView,
    PreviewView,
    PromiseView,
    PublishView,
)

urlpatterns = [
    path("recipes/new/", NewRecipeView.as_view(), name="recipe-new"),
    path("recipes/preview/", PreviewView.as_view(), name="recipe-preview"),
    path("recipes/promise/", PromiseView.as_view(), name="recipe-promise"),
    path("recipes/drafts/<int:pk>/", DraftView.as_view(), name="recipe-draft"),
    path("recipes/drafts/<int:pk>/edit/", DraftEditView.as_view(), name="recipe-draft-edit"),
    path("recipes/drafts/<int:pk>/publish/", PublishView.as_view(), name="recipe-publish"),
    path("recipes/drafts/<int:pk>/approval/", ApprovalView.as_view(), name="recipe-approval"),
    path("recipes/drafts/<int:pk>/delete/", DraftDeleteView.as_view(), name="recipe-draft-delete"),
]
