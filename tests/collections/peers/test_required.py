import pytest
from django.core.exceptions import ImproperlyConfigured

from peers.required import required


def test_required_setting_is_handed_out_as_it_is_even_where_it_is_empty() -> None:
    assert required(b"", "PANAPP_LEADER_KEY") == b""


def test_required_setting_that_is_missing_is_named() -> None:
    with pytest.raises(ImproperlyConfigured, match="PANAPP_LEADER_KEY must be set"):
        required(None, "PANAPP_LEADER_KEY")
