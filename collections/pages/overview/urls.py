from django.urls import path

from pages.overview.tags import TagsView
from pages.overview.views import OverviewView

urlpatterns = [
    path("", OverviewView.as_view(), name="overview"),
    path("recipes/<identifier:identifier>/tags/", TagsView.as_view(), name="recipe-tags"),
    path("recipes/drafts/<int:pk>/tags/", TagsView.as_view(), name="draft-tags"),
]
