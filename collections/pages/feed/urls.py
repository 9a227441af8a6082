from django.urls import path

from pages.feed.views import FeedView, RuleFeedView

urlpatterns = [
    path("feed.atom", FeedView.as_view(), name="feed"),
    path("feeds/<slug:rule>.atom", RuleFeedView.as_view(), name="rule-feed"),
]
