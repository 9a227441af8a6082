from django.urls import path

from pages.papers.theory_views import TheoryView
from pages.papers.views import PapersView

urlpatterns = [
    path("papers/", PapersView.as_view(), name="papers"),
    path("theory/", TheoryView.as_view(), name="theory"),
]
