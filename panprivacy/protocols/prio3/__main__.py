"""`python -m panprivacy.protocols.prio3 check-vectors FILE.json …`"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

from collections.abc import Sequence

from panprivacy.formats import vector_files
from panprivacy.protocols.prio3.vectors import check_file


def main(arguments: Sequence[str] | None = None) -> int:
    return vector_files.main(
        "python -m panprivacy.protocols.prio3", "Prio3 (VDAF draft 20)", check_file, arguments
    )


if __name__ == "__main__":
    console.run(main)
