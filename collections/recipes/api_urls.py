from django.urls import path

from recipes.api import RecipeListView, RecipeView, VerificationKeyView
from recipes.approvals_api import (
    ApprovalApproveView,
    ApprovalDeclineView,
    ApprovalsView,
    ApprovalView,
    ApproveView,
    AskApprovalView,
    DeclineView,
)
from recipes.drafts_api import DraftListView, DraftView

urlpatterns = [
    path("verification-key/", VerificationKeyView.as_view(), name="api-verification-key"),
    path("recipes/", RecipeListView.as_view(), name="api-recipes"),
    path("recipes/drafts/", DraftListView.as_view(), name="api-drafts"),
    path("recipes/drafts/<int:number>/", DraftView.as_view(), name="api-draft"),
    path("recipes/<int:number>/ask-approval/", AskApprovalView.as_view(), name="api-ask-approval"),
    path("recipes/<int:number>/approve/", ApproveView.as_view(), name="api-approve"),
    path("recipes/<int:number>/decline/", DeclineView.as_view(), name="api-decline"),
    path("approvals/", ApprovalsView.as_view(), name="api-approvals"),
    path("approvals/<int:approval>/", ApprovalView.as_view(), name="api-approval"),
    path("approvals/<int:approval>/approve/", ApprovalApproveView.as_view(), name="api-approval-approve"),
    path("approvals/<int:approval>/decline/", ApprovalDeclineView.as_view(), name="api-approval-decline"),
    path("recipes/<identifier:identifier>/", RecipeView.as_view(), name="api-recipe"),
]
