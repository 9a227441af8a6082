from importlib.metadata import version

import pytest

from research import stored_document
from research.reproduction import results as reproduction
from research.theory import results as theory


@pytest.mark.parametrize("results", [reproduction, theory], ids=["reproduction", "theory"])
def test_stored_document_names_its_libraries_and_is_reproducible(results):
    committed = results.committed()
    assert committed["libraries"] == {name: version(name) for name in results.LIBRARIES}
    assert stored_document.text_of(committed) == results.FILE.read_text(encoding="utf-8")


def test_difference_of_documents_names_the_place_and_overlooks_last_digits():
    before = {"claims": [{"computed": 1.0, "agrees": True}]}
    assert stored_document.differences(before, {"claims": [{"computed": 1.00000001, "agrees": True}]}) == []
    assert stored_document.differences(before, {"claims": [{"computed": 1.01, "agrees": False}]}) == [
        "claims[0].computed: 1.0 before, 1.01 now",
        "claims[0].agrees: True before, False now",
    ]
    assert stored_document.differences(before, {"claims": []})
    assert stored_document.differences({"a": 1}, {"a": True})
