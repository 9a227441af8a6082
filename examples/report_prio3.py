"""Report measurements to a plain Prio3 task, as any DAP client may (docs/tasks.md).

    python -m examples.report_prio3 task.json 0 1 1 3

`task.json` is what `manage.py task create` printed; measurements are JSON: 3, or for a vector [0,1,1].
"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

import json
import sys
import time
from pathlib import Path

from panprivacy.device.dap_upload import TaskClient
from panprivacy.device.transport import HttpTransport
from panprivacy.formats.base64_text import decode_url
from panprivacy.protocols.dap.task import TaskConfiguration


def main(file: str, *measurements: str) -> None:
    task = json.loads(Path(file).read_text())
    configuration = TaskConfiguration.decode(decode_url(task["task_configuration"]))
    with HttpTransport(configuration.leader_aggregator_endpoint) as transport:
        client = TaskClient(decode_url(task["task_id"]), configuration, transport)
        # One request with a report for each; a real client has one measurement.
        uploaded = client.measure(
            [json.loads(measurement) for measurement in measurements],
            time=int(time.time()) // configuration.time_precision,
        )
        client.close()
    answers = ["taken" if error is None else error.reason for error in uploaded.errors]
    sys.stdout.write(json.dumps(answers) + "\n")


if __name__ == "__main__":
    console.run(lambda: main(*sys.argv[1:]))
