"""A worker that dies as a whole, on services of its own; test_installation.py kills its child."""

import pytest

from tests.panapp.crashes import kill_in_mid_chunk
from tests.processes import services_on_test_database


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_worker_killed_in_mid_chunk_changes_nothing_in_the_result() -> None:
    with services_on_test_database() as services:
        kill_in_mid_chunk(services, whole_worker=True)
