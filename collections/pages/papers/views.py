"""The public page of the papers' numbers."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views import View

from pages.papers.papers import paper_sections
from research.reproduction.results import committed


class PapersView(View):
    """What the papers print beside what we compute; read from a committed file, not computed here."""

    def get(self, request: HttpRequest) -> HttpResponse:
        document = committed()
        context = {"papers": paper_sections(document), "libraries": document["libraries"]}
        return render(request, "papers/papers.html", context)
