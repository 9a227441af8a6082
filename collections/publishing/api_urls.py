from django.urls import path

from publishing.api import CloseView, DraftReviewView, PublishView, ReviewView
from publishing.approvals_api import (
    ApprovalApproveView,
    ApprovalDeclineView,
    ApprovalsView,
    ApprovalView,
    ApproveView,
    AskApprovalView,
    DeclineView,
)

urlpatterns = [
    path("recipes/review/", ReviewView.as_view(), name="api-review"),
    path("recipes/drafts/<int:number>/review/", DraftReviewView.as_view(), name="api-draft-review"),
    path("recipes/<int:number>/publish/", PublishView.as_view(), name="api-publish"),
    path("recipes/<identifier:identifier>/close/", CloseView.as_view(), name="api-close"),
    path("recipes/<int:number>/ask-approval/", AskApprovalView.as_view(), name="api-ask-approval"),
    path("recipes/<int:number>/approve/", ApproveView.as_view(), name="api-approve"),
    path("recipes/<int:number>/decline/", DeclineView.as_view(), name="api-decline"),
    path("approvals/", ApprovalsView.as_view(), name="api-approvals"),
    path("approvals/<int:approval>/", ApprovalView.as_view(), name="api-approval"),
    path("approvals/<int:approval>/approve/", ApprovalApproveView.as_view(), name="api-approval-approve"),
    path("approvals/<int:approval>/decline/", ApprovalDeclineView.as_view(), name="api-approval-decline"),
]
