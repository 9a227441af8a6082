"""A partner whose answer comes byte by byte, and the other recipes meanwhile."""

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from publishing.publication import recipe_close
from results.models import Release
from shuffle.analyzer.models import BatchFetch
from simulations.installation.services import wait_until
from tests.collections.shuffle.analyzer import scene
from tests.factories import published_recipe
from tests.processes import services_on_test_database
from web.transport import REQUEST_SECONDS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes, pytest.mark.long]


class Dripper:
    """Answers every connection with one byte of a header in a while, until it is told to stop.

    Attributes:
        url: its address.
        asked: set once somebody has connected.
    """

    def __init__(self, listening: socket.socket) -> None:
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.asked = threading.Event()
        self.ending = threading.Event()
        self._listening = listening

    def serve(self) -> None:
        while not self.ending.is_set():
            with suppress(OSError):
                connection, _ = self._listening.accept()
                threading.Thread(target=self._drip, args=(connection,), daemon=True).start()

    def _drip(self, connection: socket.socket) -> None:
        self.asked.set()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
            while not self.ending.wait(1):
                connection.sendall(b"a")


@contextmanager
def dripping() -> Iterator[Dripper]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        dripper = Dripper(listening)
        thread = threading.Thread(target=dripper.serve)
        thread.start()
        try:
            yield dripper
        finally:
            dripper.ending.set()
            thread.join(timeout=30)


def test_other_recipe_is_released_while_a_shuffler_drips(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = 45
    with dripping() as dripper:
        monkeypatch.setattr(scene, "ORIGIN", dripper.url)
        monkeypatch.setattr(scene, "SHUFFLER_URL", f"{dripper.url}/shuffler")
        held_up = scene.shuffle_recipe()
        other = published_recipe()
        key = base64.b64encode(scene.verification_key_of(scene.SHUFFLER_SIGNING_KEY)).decode()
        environment = {"PANAPP_SHUFFLER_URL": scene.SHUFFLER_URL, "PANAPP_SHUFFLER_KEY": key}
        with services_on_test_database(environment=environment):
            assert dripper.asked.wait(60)
            recipe_close(recipe=other, actor=None)
            assert wait_until(lambda: Release.objects.filter(recipe=other).exists(), patience)
            # The same request drips on: it would have held up whoever waits behind it.
            assert patience < REQUEST_SECONDS
            assert BatchFetch.objects.get(recipe=held_up).attempts == 0
            dripper.ending.set()
