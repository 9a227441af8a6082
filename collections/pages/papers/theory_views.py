"""The public page of the theory."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views import View

from pages.papers.theory import theory_sections
from research.theory.results import committed


class TheoryView(View):
    """Theorems shown by simulations and bounds; read from a committed file, not computed here."""

    def get(self, request: HttpRequest) -> HttpResponse:
        document = committed()
        context = {"demonstrations": theory_sections(document), "libraries": document["libraries"]}
        return render(request, "papers/theory.html", context)
