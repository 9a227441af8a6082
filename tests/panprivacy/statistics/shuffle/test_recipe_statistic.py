import pytest

from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.shuffle.distinct_elements import DistinctElements
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from tests.panprivacy.recipe.scene import OF_A_SHUFFLE, published, published_by, shuffler_and_analyzer


def test_statistic_of_a_recipe_of_a_shuffler_has_its_parameters() -> None:
    statistic = statistic_as(published_by(OF_A_SHUFFLE, shuffler_and_analyzer()), ShuffleStatistic)
    assert type(statistic) is DistinctElements
    assert (statistic.cohort_size, statistic.parameters.k) == (100, 5)


def test_statistic_of_another_recipe_is_refused_by_its_name() -> None:
    with pytest.raises(TypeError, match="count_nonzero is no ShuffleStatistic"):
        statistic_as(published(), ShuffleStatistic)
