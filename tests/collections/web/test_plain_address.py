import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/", "/api/v1/recipes/", "/api/schema/", "/sign-in/"])
def test_control_characters_in_a_query_are_refused(client: Client, path: str) -> None:
    for query in ("version=%0A", "search=%00", "%00=1", "a=1&q=x%1b", "q=%E2%80%A8"):
        answer = client.get(f"{path}?{query}")
        assert answer.status_code == 400
        assert (answer["Content-Type"] == "application/problem+json") == path.startswith("/api/")


@pytest.mark.parametrize("path", ["/api/v1/accounts/%00/", "/recipes/%00/", "/%1b", "/audit/%E2%80%A8/"])
def test_nothing_is_found_at_a_path_with_control_characters(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_query_in_any_script_passes(client: Client) -> None:
    assert client.get("/", {"q": "Übergänge 東京 café"}).status_code == 200
