"""The house stands as docs and imports say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_collections_folder_holds_no_init_file_so_that_the_standard_library_wins() -> None:
    assert not (ROOT / "collections" / "__init__.py").exists()
    script = "import collections; print(collections.__file__); collections.OrderedDict"
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert Path(found).parent != ROOT / "collections"
