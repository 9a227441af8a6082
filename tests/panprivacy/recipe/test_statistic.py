"""What a recipe's statistic is known to do, where the code needs a particular kind."""

import pytest

from panprivacy.recipe.statistic import report_statistic
from panprivacy.recipe.stream_statistic import stream_statistic
from panprivacy.statistics.trust_models.curator import Curator
from tests.panprivacy.recipe.scene import OF_A_STREAM, published, published_by


def test_statistic_of_a_recipe_is_handed_out_as_what_it_is_or_refused() -> None:
    of_devices, of_a_stream = published(), published_by(OF_A_STREAM, Curator(sample_digest=bytes(32)))
    assert report_statistic(of_devices) is of_devices.calibrated_statistic
    assert stream_statistic(of_a_stream) is of_a_stream.calibrated_statistic
    with pytest.raises(TypeError, match="density is not made of reports"):
        report_statistic(of_a_stream)
    with pytest.raises(TypeError, match="count_nonzero is not of a stream of items"):
        stream_statistic(of_devices)
