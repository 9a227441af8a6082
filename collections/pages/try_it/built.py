"""The programs of these pages, which `make web` builds: they are there, or the page says what is missing."""

from django.contrib.staticfiles import finders
from django.templatetags.static import static

FOLDER = "devices-web"


def program_address(name: str) -> str:
    """Where the browser finds the built module `name`; empty where it is not built, or not collected."""
    path = f"{FOLDER}/{name}.js"
    try:
        return static(path) if finders.find(path) else ""
    except ValueError:  # not among the collected files
        return ""
