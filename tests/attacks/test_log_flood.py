"""Anybody could fill the disk of a server's log: each bad signature left a line.

Required: 10 lines a minute and process, and the next one says how many were left out.
"""

from typing import Any

import pytest
from django.test import Client
from structlog.testing import capture_logs

from partners import signed_views
from storage.key_halves import public_half
from tests.panapp.test_roles import helper_settings
from web.bounded_logging import MOST, SECONDS, BoundedLine

__all__ = ["helper_settings"]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_requests_with_bad_signatures_leave_a_bounded_number_of_lines(
    client: Client, monkeypatch: pytest.MonkeyPatch, helper_settings: Any
) -> None:
    clock = Clock()
    monkeypatch.setattr(signed_views, "_REFUSED", BoundedLine(clock))
    helper_settings.LEADER_KEY = public_half(bytes(range(32)))
    helper_settings.HELPER_URL = "https://helper.example/helper"

    def flood(number: int) -> list[object]:
        with capture_logs() as logs:
            for _ in range(number):
                headers = {"Signature": "x", "Signature-Input": "y"}
                assert client.post("/helper/keys", headers=headers).status_code == 403
        return [line["left_out"] for line in logs if line["event"] == "signature_refused"]

    assert flood(200) == [0] * MOST
    clock.now = SECONDS
    assert flood(1) == [190]


def test_lines_are_bounded_in_each_period_and_none_is_lost_from_the_count() -> None:
    clock = Clock()
    line = BoundedLine(clock)
    claims = []
    for second in range(180):
        clock.now = float(second)
        claims.append(line.claim())
    written = [claim for claim in claims if claim is not None]
    assert len(written) == 3 * MOST
    assert written[0] == 0
    assert sum(written) + len(written) == 120 + MOST  # up to the last line that was written
