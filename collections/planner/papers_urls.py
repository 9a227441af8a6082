from django.urls import path

from planner.papers_views import PapersView

urlpatterns = [path("papers/", PapersView.as_view(), name="papers")]
