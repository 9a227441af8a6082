"""A real server of S3's protocol on 127.0.0.1, in a process of its own, and empty buckets on it.

`python -m tests.object_store` starts one: it prints its port, and runs until its standard input ends.
"""

import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4


def object_get(name: str) -> bytes:
    """A whole object of the store in the settings."""
    import obstore

    from reports import object_store  # the server's process has no settings

    return bytes(obstore.get(object_store._backend(), name).bytes())


@dataclass(frozen=True)
class StoreServer:
    """A running server.

    Attributes:
        environment: with which clients find it and sign in.
    """

    port: int

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }

    def bucket(self) -> str:
        """Address of a new bucket."""
        name = f"reports-{uuid4()}"
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{name}", method="PUT")
        with urllib.request.urlopen(request):  # noqa: S310  # our own server
            return f"s3://{name}/site"


@contextmanager
def store_server() -> Iterator[StoreServer]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.object_store"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield StoreServer(int(process.stdout.readline()))
        finally:
            process.stdin.close()


def main() -> None:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    print(server.get_host_and_port()[1], flush=True)  # noqa: T201  # read by who starts it
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
