"""`python -m panprivacy.privacy_pass check-vectors FILE.json …`"""

from panprivacy import console

if __name__ == "__main__":
    console.end_when_interrupted()

from collections.abc import Sequence

from panprivacy import vector_files
from panprivacy.privacy_pass.vectors import check_file


def main(arguments: Sequence[str] | None = None) -> int:
    return vector_files.main(
        "python -m panprivacy.privacy_pass", "Privacy Pass (RFC 9474, 9578)", check_file, arguments
    )


if __name__ == "__main__":
    console.run(main)
