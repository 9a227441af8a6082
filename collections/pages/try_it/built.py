"""The programs of these pages, which `make web` builds: if one is missing, the page names it."""

from django.contrib.staticfiles import finders
from django.templatetags.static import static

FOLDER = "devices-web"


def program_address(name: str) -> str:
    """The address of the built module `name`; empty if it is not built, or not collected."""
    path = f"{FOLDER}/{name}.js"
    try:
        return static(path) if finders.find(path) else ""
    except ValueError:  # not among the collected files
        return ""
