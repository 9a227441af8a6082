"""The site in the same process: only HTTP is left out."""

from collections.abc import Mapping

from django.test import Client

from devices_sim.transport import JSON, Answer, Transport


class Site(Transport):
    """Requests to the site's own addresses."""

    def at(self, base_url: str) -> Transport:
        raise ValueError(f"there is no server {base_url} in this process")

    def exchange(
        self,
        method: str,
        target: str,
        *,
        body: bytes = b"",
        content_type: str = "",
        accept: str = JSON,
        fields: Mapping[str, str] | None = None,
    ) -> Answer:
        given = {"Accept": accept, **(fields or {})}
        answer = Client().generic(method, target, body, content_type=content_type, headers=given)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(answer.status_code, headers, answer.content)
