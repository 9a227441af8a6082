from django.urls import path

from pages.feed.views import FeedView

urlpatterns = [path("feed.atom", FeedView.as_view(), name="feed")]
