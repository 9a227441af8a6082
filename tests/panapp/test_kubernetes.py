"""compose/kubernetes/ is what compose.yaml says, as Kustomize, Kubernetes' schemas and another reader of
compose files see it."""

import base64
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from django.conf import settings

from compose.to_kubernetes import SECRETS, TARGET, written
from panapp.declared_settings import default_of
from panapp.generate_secrets import named_secrets

pytestmark = pytest.mark.long

ROOT: Path = settings.BASE_DIR
BASES = ("site", "helper", "shuffler", "issuer", "attester", "relay")
WORKLOADS = ("Deployment", "StatefulSet", "Job")
(EXAMPLE,) = re.findall(
    r"```yaml\n(.*?)```", (ROOT / "docs" / "operations" / "kubernetes.md").read_text(), re.DOTALL
)
GIVEN = {
    **{name: f"the {name}" for name in named_secrets()},
    "PANAPP_ALLOWED_HOSTS": "telemetry.example",
    "PANAPP_HELPER_URL": "https://helper.example",
    "PANAPP_LOG_POLICY": "/etc/panapp/log-policy",
    "PANAPP_REPORT_STORE": "s3://bucket",
    "PANAPP_EMAIL_URL": "smtp://user:password@mail.example",
    "PANAPP_OIDC_CLIENT_SECRET": "the client secret",
    "PANAPP_OTLP_HEADERS": "authorization=the%20token",
}
"""What an operator has set."""

OF_ADDRESSES = ("POSTGRES_OWNER_PASSWORD", "POSTGRES_PROCESS_PASSWORD")

WORLD = {"egress": "ipBlock", "ingress": "namespaceSelector"}
"""How policies name what is no pod of the base: every address, and the namespace of the proxy."""
NONE = {"matchLabels": {"no": "pod"}}

Object = dict[str, Any]


def require_valid(objects: list[Object]) -> None:
    for each in objects:
        kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)


def overlay(folder: Path, base: str, text: str = EXAMPLE) -> list[Object]:
    """What `kubectl apply --kustomize` would send for the docs' example, in a folder of the clone."""
    if shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl here")
    shutil.copytree(TARGET, folder / "compose" / "kubernetes")
    (own := folder / "own").mkdir()
    (own / "kustomization.yaml").write_text(text.replace("kubernetes/site", f"kubernetes/{base}"))
    for file, secret in (("secrets.env", True), ("settings.env", False)):
        lines = [f"{name}={value}\n" for name, value in GIVEN.items() if (name in SECRETS) == secret]
        (own / file).write_text("".join(lines))
    done = subprocess.run(
        ["kubectl", "kustomize", own], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture(scope="module", params=BASES)
def base(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def built(base: str, tmp_path_factory: pytest.TempPathFactory) -> list[Object]:
    return overlay(tmp_path_factory.mktemp(base), base)


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Object]:
    """The services as podman-compose reads them. It runs nothing, but asks for podman's version."""
    folder = tmp_path_factory.mktemp("compose")
    (folder / "podman").write_text("#!/bin/sh\necho podman version 5.0.0\n")
    (folder / "podman").chmod(0o755)
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in GIVEN.items()))
    profiles = [f"--profile={base}" for base in BASES if base != "site"]
    command = ["podman-compose", f"--env-file={folder / '.env'}", "--file=compose.yaml", *profiles, "config"]
    done = subprocess.run(
        [Path(sys.executable).parent / command[0], *command[1:]],
        cwd=ROOT,
        env={"PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    services: dict[str, Object] = yaml.safe_load(done.stdout)["services"]
    return services


def of_kind(objects: list[Object], *kinds: str) -> dict[str, Object]:
    return {each["metadata"]["name"]: each for each in objects if each["kind"] in kinds}


def pods(objects: list[Object]) -> dict[str, Object]:
    """Name of each workload → the template of its pods."""
    return {name: each["spec"]["template"] for name, each in of_kind(objects, *WORKLOADS).items()}


def environment(container: Object, held: Mapping[str, Object]) -> dict[str, str]:
    """The variables that the container gets; references to what is missing must be optional."""
    found: dict[str, str] = {}
    for each in container["env"]:
        if "value" in each:
            found[each["name"]] = re.sub(r"\$\(([A-Z_]+)\)", lambda name: found[name[1]], each["value"])
            continue
        ((_, key),) = each["valueFrom"].items()
        values = held[key["name"]]
        if key["key"] in values:
            found[each["name"]] = values[key["key"]]
        else:
            assert key.get("optional"), key
    return found


def decoded(secret: Object) -> dict[str, str]:
    return {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}


@pytest.mark.parametrize("name", sorted(written()))
def test_objects_written_fit_the_schemas_of_kubernetes(name: str) -> None:
    require_valid(list(yaml.safe_load_all(written()[name])))


def test_kustomize_makes_of_each_base_what_the_schemas_accept(built: list[Object]) -> None:
    require_valid(built)


def test_pods_are_what_compose_has_of_this_role(
    base: str, built: list[Object], composed: dict[str, Object]
) -> None:
    its = {name: each for name, each in composed.items() if each.get("profiles", ["site"]) == [base]}
    held = of_kind(built, "Secret", "ConfigMap")
    values = {
        name: each["data"] if each["kind"] == "ConfigMap" else decoded(each) for name, each in held.items()
    }
    assert pods(built).keys() == its.keys()
    for name, pod in pods(built).items():
        (container,), service = pod["spec"]["containers"], its[name]
        assert container["args"] == service["command"]
        assert container["image"] == {"panapp": "registry.example/panapp:0.2.0"}.get(
            service["image"], service["image"]
        )
        expected = {key: value or default_of(key) for key, value in service["environment"].items()}
        given = environment(container, values)
        got = {key: given.get(key) or default_of(key) for key in service["environment"]}
        assert got == expected, name
        for waiting in pod["spec"].get("initContainers", ()):
            assert waiting["env"] == container["env"]
        # Nothing else, but what addresses are put together from.
        assert given.keys() - expected.keys() <= {"REDIS_PASSWORD", "PGDATA", *OF_ADDRESSES}


def test_pods_are_restricted_and_write_nowhere_but_to_volumes(built: list[Object]) -> None:
    for name, pod in pods(built).items():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        context = spec["securityContext"]
        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] == 999
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"].keys() == {"requests", "limits"}
        kinds = {kind for volume in spec["volumes"] for kind in volume.keys() - {"name"}}
        assert kinds <= {"configMap", "emptyDir", "persistentVolumeClaim"}
    user = re.search(r"^USER (\d+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert user
    assert user[1] == "999"


def test_no_object_holds_a_secret_but_the_secret_itself(built: list[Object]) -> None:
    rest = yaml.safe_dump([each for each in built if each["kind"] != "Secret"])
    assert not [name for name in SECRETS & GIVEN.keys() if GIVEN[name] in rest]


def test_policies_connect_what_compose_connects_and_no_more(
    base: str, built: list[Object], composed: dict[str, Object]
) -> None:
    policies = [each["spec"] for each in of_kind(built, "NetworkPolicy").values()]
    labels = {name: pod["metadata"]["labels"] for name, pod in pods(built).items()}
    for source, target in itertools.permutations(labels, 2):
        shared = set(composed[source]["networks"]) & set(composed[target]["networks"])
        connected = may(policies, "egress", labels[source], labels[target]) and may(
            policies, "ingress", labels[target], labels[source]
        )
        assert connected == bool(shared - {"outside"}), (source, target)
    leaving, entered = (
        {name for name in labels if may(policies, direction, labels[name], None)}
        for direction in ("egress", "ingress")
    )
    assert leaving == {name for name in labels if "outside" in composed[name]["networks"]}
    assert entered == {name for name in labels if "ports" in composed[name]}


def may(policies: list[Object], direction: str, own: Object, other: Object | None) -> bool:
    """Whether a pod with its own labels may speak with another one, or with the world if that is None."""
    applied = [
        each
        for each in policies
        if direction.capitalize() in each["policyTypes"] and selects(each["podSelector"], own)
    ]
    assert applied, "a pod that no policy is about may do everything"
    rules = [rule for each in applied for rule in each.get(direction, ())]
    peers = [peer for rule in rules for peer in rule["to" if direction == "egress" else "from"]]
    if other is None:
        return any(WORLD[direction] in peer for peer in peers)
    return any("ipBlock" in peer or selects(peer.get("podSelector", NONE), other) for peer in peers)


def selects(selector: Object, labels: Object) -> bool:
    return selector.get("matchLabels", {}).items() <= labels.items()


def test_services_and_selectors_find_the_pods_they_are_for(built: list[Object], base: str) -> None:
    labels = {name: pod["metadata"]["labels"] for name, pod in pods(built).items()}
    ports = {}
    for name, service in of_kind(built, "Service").items():
        (found,) = [pod for pod in labels if service["spec"]["selector"].items() <= labels[pod].items()]
        assert found == name
        ports[name] = service["spec"]["ports"][0]["port"]
    for name, each in of_kind(built, "Deployment", "StatefulSet").items():
        assert [pod for pod in labels if selects(each["spec"]["selector"], labels[pod])] == [name]
    # Every address that a process is given is one of these.
    for name, pod in pods(built).items():
        for variable in pod["spec"]["containers"][0]["env"]:
            for host, port in re.findall(r"@([a-z-]+):(\d+)/", variable.get("value", "")):
                assert ports[host] == int(port), name


def test_nothing_starts_until_migrations_are_done(built: list[Object], composed: dict[str, Object]) -> None:
    waiting = {name for name, pod in pods(built).items() if "initContainers" in pod["spec"]}
    after = {
        name
        for name in pods(built)
        if any(need.endswith("migrate") for need in composed[name].get("depends_on", ()))
    }
    assert waiting == after
    assert len(of_kind(built, "Job")) == 1


def test_every_server_is_probed_for_readiness_as_in_compose(
    built: list[Object], composed: dict[str, Object]
) -> None:
    for name, pod in pods(built).items():
        (container,), check = pod["spec"]["containers"], composed[name].get("healthcheck")
        assert ("readinessProbe" in container) == (check is not None) == ("ports" in container)
        if check is not None:
            assert container["readinessProbe"]["exec"]["command"] == check["test"][1:]


def test_store_reaches_the_processes_that_compose_gives_it_to(tmp_path: Path) -> None:
    built = overlay(tmp_path, "site", f"{EXAMPLE}components: [../compose/kubernetes/store]\n")
    require_valid(built)
    with_store = {
        name
        for name, pod in pods(built).items()
        if "PANAPP_REPORT_STORE" in {each["name"] for each in pod["spec"]["containers"][0]["env"]}
    }
    given = {name for name, pod in pods(built).items() if "envFrom" in pod["spec"]["containers"][0]}
    services = yaml.safe_load((ROOT / "compose" / "store.yaml").read_text())["services"]
    assert with_store == given == set(services)
