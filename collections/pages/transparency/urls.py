from django.urls import path

from pages.transparency.views import PublicFeedView, PublicLogView

urlpatterns = [
    path("log/", PublicLogView.as_view(), name="public-log"),
    path("log/feed.atom", PublicFeedView.as_view(), name="public-log-feed"),
]
