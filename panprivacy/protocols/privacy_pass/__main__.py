"""`python -m panprivacy.protocols.privacy_pass check-vectors FILE.json …`"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

from collections.abc import Sequence

from panprivacy.formats import vector_files
from panprivacy.protocols.privacy_pass.vectors import check_file


def main(arguments: Sequence[str] | None = None) -> int:
    return vector_files.main(
        "python -m panprivacy.protocols.privacy_pass", "Privacy Pass (RFC 9474, 9578)", check_file, arguments
    )


if __name__ == "__main__":
    console.run(main)
