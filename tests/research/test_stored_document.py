from research import stored_document


def test_difference_of_documents_names_the_place_and_overlooks_last_digits():
    before = {"claims": [{"computed": 1.0, "agrees": True}]}
    assert stored_document.differences(before, {"claims": [{"computed": 1.00000001, "agrees": True}]}) == []
    assert stored_document.differences(before, {"claims": [{"computed": 1.01, "agrees": False}]}) == [
        "claims[0].computed: 1.0 before, 1.01 now",
        "claims[0].agrees: True before, False now",
    ]
    assert stored_document.differences(before, {"claims": []})
    assert stored_document.differences({"a": 1}, {"a": True})
