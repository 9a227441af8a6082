"""What a recipe's statistic is known to do, where the code needs a particular kind."""

import pytest

from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.interface import ReportStatistic
from panprivacy.statistics.streams.interface import StreamStatistic
from panprivacy.statistics.trust_models.curator import Curator
from tests.panprivacy.recipe.scene import OF_A_STREAM, published, published_by


def test_statistic_of_a_recipe_is_handed_out_as_what_it_is_or_refused() -> None:
    of_devices, of_a_stream = published(), published_by(OF_A_STREAM, Curator(sample_digest=bytes(32)))
    assert statistic_as(of_devices, ReportStatistic) is of_devices.calibrated_statistic
    assert statistic_as(of_a_stream, StreamStatistic) is of_a_stream.calibrated_statistic
    with pytest.raises(TypeError, match="density is no ReportStatistic"):
        statistic_as(of_a_stream, ReportStatistic)
    with pytest.raises(TypeError, match="count_nonzero is no StreamStatistic"):
        statistic_as(of_devices, StreamStatistic)
