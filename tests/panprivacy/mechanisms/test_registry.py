import pytest

from panprivacy.catalogue import STATISTICS, statistic_class
from panprivacy.errors import FieldError
from panprivacy.mechanisms import MECHANISMS


def test_registry_has_every_statistic_under_its_own_name():
    assert {name: mechanism.statistic for name, mechanism in MECHANISMS.items()} == {
        name: name for name in MECHANISMS
    }


@pytest.mark.parametrize("statistic", ["median", "", None, 3, ["mean"]])
def test_statistic_class_of_an_unknown_statistic_names_the_field(statistic):
    with pytest.raises(FieldError) as refused:
        statistic_class(statistic)
    assert refused.value.field == "statistic"
    assert ", ".join(STATISTICS) in refused.value.message
