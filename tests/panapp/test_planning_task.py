"""The processes of `demo` and `collect` finish plans that a request has no time for."""

import json
import os
import urllib.request
from pathlib import Path

import pytest

from panapp.services import running_services, wait_until
from planner.api import EXAMPLE


@pytest.mark.processes
def test_plan_begun_by_the_web_server_is_finished_by_a_worker(tmp_path: Path) -> None:
    environment = {"PANAPP_DATA_DIR": str(tmp_path), "DATABASE_URL": "", "CELERY_BROKER_URL": ""}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CELERY_BROKER_URL", raising=False)
        with running_services(environment={**os.environ, **environment}) as services:

            def solved() -> bool:
                request = urllib.request.Request(  # noqa: S310  # http to ourselves
                    f"{services.base_url}/api/v1/plan",
                    data=json.dumps(EXAMPLE).encode(),
                    headers={"Content-Type": "application/json"},
                )
                with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310  # http to ourselves
                    answer = json.load(response)
                return answer["guarantees"] is not None and answer["solution"]["found"]

            assert not solved()  # guarantees are always a task's
            assert wait_until(solved, 90, interval=1)
