"""`python -m panprivacy.protocols.privacy_pass check-vectors FILE.json …`"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

import secrets
from collections.abc import Sequence
from functools import partial

from panprivacy.formats import vector_files
from panprivacy.protocols.privacy_pass.vectors import check_file


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 if every vector of the files holds."""
    check = partial(check_file, random_source=secrets.SystemRandom())
    return vector_files.main(
        "python -m panprivacy.protocols.privacy_pass", "Privacy Pass (RFC 9474, 9578)", check, arguments
    )


if __name__ == "__main__":
    console.run(main)
