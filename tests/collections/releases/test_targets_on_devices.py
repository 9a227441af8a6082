"""What a device checks of a target, against the site that published it, through the site's own gateway."""

from dataclasses import replace
from typing import Any

import pytest

from devices_sim.log_check import LogCheck
from devices_sim.target_check import TargetRefusedError, target_require
from panprivacy.recipe import PublishedRecipe
from public_log.integrating import integrate
from public_log.selectors import site_policy
from tests.relayed_site import through_relay
from tests.target_scene import DECLARED, counted, declare, file_of, publish

pytestmark = pytest.mark.django_db


@pytest.fixture
def published() -> PublishedRecipe:
    """A recipe with a target; it, and what it cites, is in the log."""
    declare("everyone", DECLARED)
    recipe = publish(file_of(("os", "linux", counted())))
    integrate()
    return recipe.published


def require(published: PublishedRecipe, **changes: Any) -> None:
    cited = published.target
    assert cited is not None
    with through_relay() as way:
        target_require(
            replace(cited, **changes),
            population=published.population,
            simulation=published.simulation,
            transport=way,
            log=LogCheck(site_policy()),
        )


def test_device_believes_the_target_that_its_site_published(published: PublishedRecipe) -> None:
    require(published)


def test_device_computes_the_same_bound_as_its_site(published: PublishedRecipe) -> None:
    require(published, smallest=140_000)
    with pytest.raises(TargetRefusedError, match="are sure"):
        require(published, smallest=152_000)
