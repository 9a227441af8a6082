from tests.panprivacy.device.conftest import make_server, reports, server  # noqa: F401  # fixtures
