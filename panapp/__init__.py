"""Wiring: settings, urls, Celery, WSGI, and the commands that run the whole.

Nothing imports this package but entry points.

It must not decide what a role does: a role is a choice of urls, apps and keys in settings.
"""

import gc
import sys
from pathlib import Path

# Loaded modules stay: a search for garbage among them takes a fifth of the start. `PanappConfig.ready` ends
# this.
gc.disable()

# The apps live in collections/, a plain folder that bears the name of a standard-library
# module. With an __init__.py it would be imported in the library's place, so it has none;
# its *contents* go on the import path instead: `import recipes`, `import reports`, …
_apps = str(Path(__file__).resolve().parent.parent / "collections")
if _apps not in sys.path:
    sys.path.append(_apps)
