from django.urls import path

from pages.papers.views import papers_page, theory_page

urlpatterns = [
    path("papers/", papers_page, name="papers"),
    path("theory/", theory_page, name="theory"),
]
