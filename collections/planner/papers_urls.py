from django.urls import path

from planner.papers_views import PapersView
from planner.theory_views import TheoryView

urlpatterns = [
    path("papers/", PapersView.as_view(), name="papers"),
    path("theory/", TheoryView.as_view(), name="theory"),
]
