"""What /metrics tells of requests."""

from collections.abc import Callable

from django.test import Client


def _measures() -> dict[str, float]:
    lines = Client().get("/metrics").content.decode().splitlines()
    rows = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    told = ("requests_body_total_bytes", "latency")
    return {name: float(value) for name, value in rows if any(part in name for part in told)}


def assert_counted_and_not_measured(view: str, send: Callable[[], object]) -> None:
    """Requests to a view are counted, and neither their lengths nor their times are."""
    _measures()  # its own request is measured, too
    first = _measures()
    second = _measures()
    alone = {name: second[name] - first[name] for name in second if "bytes" in name}
    assert alone
    send()
    third = _measures()
    assert {name: third[name] - second[name] for name in alone} == alone
    counts = [name for name in second if "latency" in name and name.endswith("_count")]
    assert counts
    assert all(third[name] - second[name] <= 1 for name in counts)
    assert not [name for name in third if "latency" in name and view in name]
    assert f'view="{view}"' in Client().get("/metrics").content.decode()
