from django.urls import path

from publishing.api import CloseView, DraftReviewView, PublishView, ReviewView

urlpatterns = [
    path("recipes/review/", ReviewView.as_view(), name="api-review"),
    path("recipes/drafts/<int:number>/review/", DraftReviewView.as_view(), name="api-draft-review"),
    path("recipes/<int:number>/publish/", PublishView.as_view(), name="api-publish"),
    path("recipes/<identifier:identifier>/close/", CloseView.as_view(), name="api-close"),
]
