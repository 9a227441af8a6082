import pytest
from django.conf import LazySettings


@pytest.fixture(autouse=True)
def site(settings: LazySettings, db: None) -> None:
    """A site that knows its address; its outbox begins with what happens from now on."""
    from notifications.outbox import log_read

    settings.SITE_URL = "https://telemetry.example"
    settings.EMAIL_FROM = "telemetry@telemetry.example"
    settings.LOCAL = False
    log_read()
