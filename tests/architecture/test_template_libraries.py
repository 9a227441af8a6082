"""Template tags count as imports: a template loads libraries of `web`, `pages` or Django only."""

import re
from pathlib import Path
from typing import Any

from django.template import engines
from django.template.backends.django import get_installed_libraries

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATES = sorted(ROOT.glob("templates/**/*.html")) + sorted(ROOT.glob("collections/*/templates/**/*.html"))
MAY_BE_LOADED = {"web", "pages", "django"}
LOADED = re.compile(r"{%\s*load\s+(?:[\w ]+\s+from\s+)?([\w. ]+?)\s*%}")


def libraries_of(template: str) -> set[str]:
    return {name for names in LOADED.findall(template) for name in names.split()}


def test_no_template_loads_a_library_of_a_higher_layer() -> None:
    engine: Any = engines["django"]  # Django's own, whose libraries other engines lack
    modules = {**get_installed_libraries(), **engine.engine.libraries}
    assert TEMPLATES
    loaded = [(place.name, name) for place in TEMPLATES for name in libraries_of(place.read_text())]
    assert [(place, name) for place, name in loaded if modules[name].split(".")[0] not in MAY_BE_LOADED] == []
