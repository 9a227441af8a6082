"""Static files of a local installation: compressed and named by their hashes, as in production.

Production runs `collectstatic` once, when it is installed. Here the web process does so by itself, whenever a
file has changed since the last time.
"""

import fcntl
import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import ManifestFilesMixin, staticfiles_storage
from django.core.management import call_command

UNUSED = ("widgetbundle.js", "datasets", "templates")
"""Of plotly's package: no page asks for it, and compressing it takes seconds."""

STAMP = ".collected"


def static_files_prepare() -> None:
    """Collect the files into STATIC_ROOT, unless it holds them as they are. One process does so at a time.

    If settings serve files under their own names, nothing is collected.
    """
    if not isinstance(staticfiles_storage, ManifestFilesMixin):
        return
    root = Path(settings.STATIC_ROOT)
    root.mkdir(parents=True, exist_ok=True)
    # Next to the served files, and opened so that an existing file is not emptied.
    with (root.parent / f"{root.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, now = root / STAMP, _fingerprint()
        manifest = root / staticfiles_storage.manifest_name
        if manifest.exists() and stamp.exists() and stamp.read_text() == now:
            # Another process may have collected them since this one checked.
            staticfiles_storage.hashed_files, staticfiles_storage.manifest_hash = (
                staticfiles_storage.load_manifest()
            )
            return
        call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=list(UNUSED))
        stamp.write_text(now)


def _fingerprint() -> str:
    """Changes with every file that is found: its place, size and time."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list(list(UNUSED)):
            found = Path(storage.path(name)).stat()
            digest.update(f"{storage.path(name)}\n{found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()
