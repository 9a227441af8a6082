"""A released result as one self-contained picture, on pages and in papers of others."""

from textwrap import wrap
from xml.etree import ElementTree as ET

from pages.charts.description import Chart
from pages.charts.svg import FONT, TEXT, WIDE, coloured, draw, printable, text_of, words
from pages.recipe.charts import release_chart
from pages.recipe.presentation import headline
from recipes.models import Recipe
from results.models import Release, SimulatedTruth

MARGIN = 20
"""Around everything, in pixels."""

QUESTION, ANSWER = 18, 16
"""Size of their letters, in pixels."""

LETTER = 0.62
"""About how wide a letter is, as a share of its size."""


def result_text(recipe: Recipe, release: Release) -> str:
    """The result as one sentence, in place of the picture."""
    said = headline(recipe, release)
    level = f" ({said.level})" if said.level else ""
    simulated = " A simulation." if recipe.simulation else ""
    return f"{recipe.question} {said.text}{level}.{simulated}"


def result_picture(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> str:
    """The question, the answer and its chart with intervals, as an SVG document.

    It has plain attributes: no script, no style, nothing that is loaded.
    """
    chart: Chart = release_chart(recipe, release, truth)
    width = WIDE.width + 2 * MARGIN
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
    root.attrib |= {"aria-labelledby": "title words", "font-family": FONT, "font-size": str(TEXT)}
    ET.SubElement(root, "title", {"id": "title"}).text = printable(recipe.question)
    ET.SubElement(root, "desc", {"id": "words"}).text = printable(result_text(recipe, release))
    ground = ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    inside = ET.SubElement(root, "g", {"transform": f"translate({MARGIN} {MARGIN})"})
    top = _paragraph(inside, "words", recipe.question, QUESTION, 0.0, weight="600")
    said = headline(recipe, release)
    level = f" ({said.level})" if said.level else ""
    top = _paragraph(inside, "words", f"{said.text}{level}", ANSWER, top)
    if recipe.simulation:
        top = _paragraph(inside, "faint", "A simulation, whose truth is known.", TEXT, top)
    bottom = draw(inside, chart, WIDE, top + TEXT)
    about = f"Recipe {str(recipe.identifier)[:12]} · {recipe.name} · released {release.released_at:%d %b %Y}"
    bottom = _paragraph(inside, "faint", about, TEXT, bottom)
    height = round(bottom + 2 * MARGIN)
    ground.attrib |= {"width": str(width), "height": str(height)}
    root.attrib |= {"viewBox": f"0 0 {width} {height}", "width": str(width), "height": str(height)}
    return text_of(root)


def _paragraph(parent: ET.Element, name: str, text: str, size: int, top: float, weight: str = "400") -> float:
    """Lines of text below `top`; returns their lower end."""
    group = coloured(parent, name, fill="currentColor", **{"font-size": str(size), "font-weight": weight})
    for line in wrap(printable(text), int(WIDE.width / (size * LETTER))):
        top += 1.35 * size
        words(group, line, 0, top)
    return top + 0.3 * size
