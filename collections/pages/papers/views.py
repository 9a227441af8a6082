"""The public pages of the papers' numbers and of the theory; read from committed files, not computed here."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from pages.papers.papers import paper_sections
from pages.papers.theory import theory_sections
from research.reproduction import results as reproduction
from research.theory import results as theory


@require_safe
def papers_page(request: HttpRequest) -> HttpResponse:
    """What the papers print next to what we compute."""
    document = reproduction.committed()
    context = {"papers": paper_sections(document), "libraries": document["libraries"]}
    return render(request, "papers/papers.html", context)


@require_safe
def theory_page(request: HttpRequest) -> HttpResponse:
    """Theorems shown by simulations and bounds."""
    document = theory.committed()
    context = {"demonstrations": theory_sections(document), "libraries": document["libraries"]}
    return render(request, "papers/theory.html", context)
