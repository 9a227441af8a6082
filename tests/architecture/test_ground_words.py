"""The ground floor would serve any site: it does not speak of what this one is about."""

import re
from pathlib import Path

import pytest

COLLECTIONS = Path(__file__).resolve().parent.parent.parent / "collections"
ABOUT = re.compile(r"(?<![a-z])(recipe|report|cohort|helper|shuffler)s?(?![a-z])", re.IGNORECASE)

EXCEPTIONS = {
    "storage/object_store.py": ["report_store_failed"],  # an event of the logs that operators watch for
}
"""File → what it may say all the same, once each."""


@pytest.mark.parametrize("room", ["web", "storage"])
def test_ground_floor_does_not_speak_of_what_the_site_is_about(room: str) -> None:
    files = sorted((COLLECTIONS / room).rglob("*.py"))
    assert files
    spoken = []
    for path in files:
        name = path.relative_to(COLLECTIONS).as_posix()
        text = path.read_text()
        for exception in EXCEPTIONS.get(name, []):
            assert text.count(exception) == 1, f"{name}: {exception} is no exception any more"
            text = text.replace(exception, "")
        spoken += [f"{name}: {found.group()}" for found in ABOUT.finditer(text)]
    assert spoken == []


@pytest.mark.parametrize("line", ["REPORT_STORE", "a recipe's", "RECIPES_WRITE", "Helpers", "report_store"])
def test_word_is_found_in_sentences_and_names(line: str) -> None:
    assert ABOUT.search(line)


@pytest.mark.parametrize("line", ["reporter", "unreported", "reporting"])
def test_other_words_are_not(line: str) -> None:
    assert not ABOUT.search(line)
