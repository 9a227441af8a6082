import pytest
from django.test import Client


@pytest.fixture
def signed_in(client: Client) -> Client:
    """An analyst's."""
    from tests.scenes import analyst

    client.force_login(analyst())
    return client
