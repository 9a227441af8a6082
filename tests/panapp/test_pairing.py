"""An installation and a partner started together: each knows the other's address and key, and no more."""

import stat
import urllib.request
from pathlib import Path

import pytest
from django.conf import settings

from panapp.environment import local_secrets, public_half
from panapp.pairing import HelperPairing, Pairing, ShufflerPairing, pair
from panapp.ports import HOST
from panapp.roles import ROLES
from panapp.services import ServiceError, running_services, wait_until
from tests.patience import PATIENCE
from tests.processes import helper_rows, kill_helper, services_on_test_database

KINDS = pytest.mark.parametrize("kind", [HelperPairing, ShufflerPairing])


def paired(kind: type[Pairing], data: Path) -> Pairing:
    with pair(kind, site_port=8000, data=data) as pairing:
        return pairing


@pytest.mark.parametrize(("kind", "site_role"), [(HelperPairing, "leader"), (ShufflerPairing, "all-in-one")])
def test_pairing_gives_each_role_exactly_what_it_requires(
    tmp_path: Path, kind: type[Pairing], site_role: str
) -> None:
    pairing = paired(kind, tmp_path / "partner")
    site, partner = pairing.site_variables(), pairing.partner_variables({})
    assert site.get("PANAPP_ROLE", "all-in-one") == site_role
    assert partner["PANAPP_ROLE"] == pairing.role
    needed = {role: set(ROLES[role].required or ROLES[role].optional) for role in (site_role, pairing.role)}
    for role, variables in ((site_role, site), (pairing.role, partner)):
        assert {name for name in variables if name.endswith(("_URL", "_KEY"))} == needed[role]


@KINDS
def test_partner_gets_nothing_of_the_sites_services_and_secrets(tmp_path: Path, kind: type[Pairing]) -> None:
    sites = {
        "DATABASE_URL": "postgres://leader",
        "CELERY_BROKER_URL": "redis://leader",
        "PANAPP_SIGNING_KEY": "secret",
        "PANAPP_KEY_ENCRYPTION_KEY": "secret",
        "PANAPP_DATA_DIR": "/leader",
        "PATH": "/bin",
    }
    variables = paired(kind, tmp_path).partner_variables(sites)
    assert not set(variables.values()) & (set(sites.values()) - {"/bin"})
    assert variables["PATH"] == "/bin"


@KINDS
def test_partner_has_keys_of_its_own_that_only_the_owner_can_read(
    tmp_path: Path, kind: type[Pairing]
) -> None:
    pairing = paired(kind, tmp_path / "partner")
    file = tmp_path / "partner" / "local-secrets.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not set(local_secrets(file).values()) & set(
        local_secrets(settings.DATA_DIR / "local-secrets.json").values()
    )
    assert pairing.site_key == public_half(settings.SIGNING_KEY)
    assert pairing.key != pairing.site_key


@KINDS
def test_pairing_again_finds_the_partner_under_the_same_address_and_key(
    tmp_path: Path, kind: type[Pairing]
) -> None:
    first, second = (paired(kind, tmp_path) for _ in range(2))
    assert first == second


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_helper_that_is_killed_comes_back_under_its_address_with_its_own_database(tmp_path: Path) -> None:
    with services_on_test_database(partners={"helper": tmp_path}) as services:
        port = services.pairings["helper"].port
        killed = services.pid("helper")
        kill_helper(services)

        def back() -> bool:
            if services.pid("helper") == killed:
                return False
            try:
                with urllib.request.urlopen(f"http://{HOST}:{port}/health/ready", timeout=5) as answer:
                    return answer.status == 200
            except OSError:
                return False

        assert wait_until(back, PATIENCE)
    # A process of its own, with tables of its own: not the test database, which has recipes too.
    apps = {app for (app,) in helper_rows(tmp_path, "SELECT DISTINCT app FROM django_migrations")}
    assert {"audit", "dap"} <= apps
    assert "recipes" not in apps


@pytest.mark.processes
def test_helper_whose_database_cannot_be_made_ready_stops_the_start_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "panapp.sqlite3").write_bytes(b"this is no database" * 100)
    with pytest.raises(ServiceError, match="the helper's database cannot be made ready"):
        with running_services(partners={"helper": tmp_path}):
            pass
