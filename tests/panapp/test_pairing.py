"""An installation and a partner started together: each knows the other's address and key, and no more."""

import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from panapp.roles import ROLES
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.recipe.draft import RecipeDraft
from simulations.collect.collection import roles_beside
from simulations.installation.partners import KINDS as PAIRINGS
from simulations.installation.partners import HelperPairing, Pairing, ShufflerPairing, log_policy_text, pair
from simulations.installation.ports import HOST
from simulations.installation.services import ServiceError, running_services
from storage.key_halves import public_half
from storage.local_secrets import local_secrets
from tests.factories import recipe_members
from tests.panapp.scene import SHUFFLE_HISTOGRAM, shuffled_members

KINDS = pytest.mark.parametrize("kind", [HelperPairing, ShufflerPairing])


def paired(kind: type[Pairing], data: Path) -> Pairing:
    with pair(kind, site_port=8000, data=data) as pairing:
        return pairing


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[dict[str, Pairing]]:
    """A partner of each role."""
    with ExitStack() as stack:
        yield {
            role: stack.enter_context(pair(kind, site_port=8000, data=tmp_path / role))
            for role, kind in PAIRINGS.items()
        }


@pytest.mark.parametrize(("kind", "site_role"), [(HelperPairing, "leader"), (ShufflerPairing, "all-in-one")])
def test_pairing_gives_each_role_exactly_what_it_requires(
    tmp_path: Path, kind: type[Pairing], site_role: str
) -> None:
    pairing = paired(kind, tmp_path / "partner")
    site, partner = pairing.site_variables(), pairing.partner_variables({})
    assert site.get("PANAPP_ROLE", "all-in-one") == site_role
    assert partner["PANAPP_ROLE"] == pairing.role
    needed = {role: set(ROLES[role].required) for role in (site_role, pairing.role)}
    if not needed[site_role]:
        needed[site_role] = {f"PANAPP_{pairing.role.upper()}_URL", f"PANAPP_{pairing.role.upper()}_KEY"}
    for role, variables in ((site_role, site), (pairing.role, partner)):
        assert {name for name in variables if name.endswith(("_URL", "_KEY"))} == needed[role]


def test_issuer_attester_and_relay_get_exactly_what_they_require(beside: dict[str, Any]) -> None:
    told = {role: pairing.partner_variables({}, beside) for role, pairing in beside.items()}
    for role in ("issuer", "attester", "relay"):
        ROLES[role].check_required(told[role])
        extra = {"PANAPP_ROLE", "PANAPP_DATA_DIR"} | ({"PANAPP_ATTESTATION"} if role == "attester" else set())
        extra |= {"PANAPP_WITNESSED_LOGS"} if role != "relay" else set()
        assert set(told[role]) == {*ROLES[role].required} | extra
    issuer, relay = beside["issuer"], beside["relay"]
    # The site does not know the attester: it learns its address from the issuer.
    assert beside["attester"].site_variables() == {}
    assert set(issuer.site_variables()) == {"PANAPP_ISSUER_URL", "PANAPP_ISSUER_KEY"}
    assert relay.site_variables() == {"PANAPP_RELAY_URL": f"{relay.url}/site"}
    assert told["relay"]["PANAPP_RELAY_GATEWAYS"].split(",") == [
        f"site=http://{HOST}:8000",
        *(f"site/{role}=http://{HOST}:{beside[role].port}" for role in ("helper", "shuffler")),
    ]


def test_each_partner_but_the_relay_is_a_witness_of_the_sites_log(beside: dict[str, Any]) -> None:
    policy = Policy.parse(log_policy_text(beside.values()).encode())
    assert set(policy.witnesses) == {"helper", "shuffler", "issuer", "attester"}
    assert policy.witnesses["helper"].url == f"http://{HOST}:{beside['helper'].port}/witness"
    assert policy.is_met(frozenset({"attester"}))
    assert not policy.is_met(frozenset())
    (log,) = policy.logs
    assert log.name == settings.LOG_ORIGIN
    assert beside["helper"].partner_variables({}, beside)["PANAPP_WITNESSED_LOGS"] == log.text
    alone = Policy.parse(log_policy_text(()).encode())
    assert (alone.logs, alone.is_met(frozenset())) == ((log,), True)


@KINDS
def test_partner_keeps_its_own_keys_and_gets_nothing_of_the_sites(
    tmp_path: Path, kind: type[Pairing]
) -> None:
    pairing = paired(kind, tmp_path / "partner")
    file = tmp_path / "partner" / "local-secrets.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    ours = local_secrets(settings.DATA_DIR / "local-secrets.json")
    assert not set(local_secrets(file).values()) & set(ours.values())
    assert pairing.site_key == public_half(settings.SIGNING_KEY)
    assert pairing.key != pairing.site_key
    sites = {"DATABASE_URL": "postgres://leader", "CELERY_BROKER_URL": "redis://leader"}
    sites |= {"PANAPP_DATA_DIR": "/leader"}
    sites |= {"PANAPP_SIGNING_KEY": "secret", "PANAPP_KEY_ENCRYPTION_KEY": "secret"}
    variables = pairing.partner_variables({**sites, "PATH": "/bin"})
    assert not set(variables.values()) & set(sites.values())
    assert variables["PATH"] == "/bin"
    assert paired(kind, tmp_path / "partner") == pairing, "the same address and keys again"


@pytest.mark.parametrize(
    ("changes", "beside"),
    [
        ({}, []),
        ({"trust": "two_server"}, ["helper"]),
        ({"trust": "two_server", "admission": "token"}, ["helper", "issuer", "attester"]),
        ({"admission": "token", "relay": True}, ["issuer", "attester", "relay"]),
        (shuffled_members(SHUFFLE_HISTOGRAM), ["shuffler"]),
    ],
)
def test_a_recipe_has_just_the_partners_beside_that_it_needs(
    changes: dict[str, Any], beside: list[str]
) -> None:
    members = changes if "statistic" in changes else recipe_members(**changes)
    assert roles_beside(RecipeDraft.from_mapping(members)) == beside


@pytest.mark.processes
def test_start_stops_if_the_helpers_database_cannot_be_made_ready(tmp_path: Path) -> None:
    (tmp_path / "panapp.sqlite3").write_bytes(b"this is no database" * 100)
    with pytest.raises(ServiceError, match="the helper's database cannot be made ready"):
        with running_services(partners={"helper": tmp_path}):
            pass
