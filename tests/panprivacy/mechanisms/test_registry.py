import pytest

from panprivacy.errors import FieldError
from panprivacy.mechanisms import MECHANISMS, mechanism_class


def test_registry_lists_the_three_statistics_of_one_server():
    assert set(MECHANISMS) == {"count_nonzero", "histogram", "mean"}


@pytest.mark.parametrize("statistic", ["median", "", None, 3, ["mean"]])
def test_mechanism_class_of_an_unknown_statistic_names_the_field(statistic):
    with pytest.raises(FieldError) as refused:
        mechanism_class(statistic)
    assert refused.value.field == "statistic"
    assert "count_nonzero, histogram, mean" in refused.value.message
