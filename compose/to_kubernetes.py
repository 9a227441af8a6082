"""`make kubernetes`: the services of compose.yaml as bases for Kustomize, in compose/kubernetes/.

There is a base for each organization's role, with a workload for each service. A variable that compose reads
from .env becomes a reference: secrets to the Secret `panapp-secrets`, others to the ConfigMap
`panapp-settings`. What holds for all pods is in compose/kubernetes/common, which is written by hand.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from panapp import process_kinds
from panapp.declared_settings import default_of
from panapp.generate_secrets import named_secrets

Object = dict[str, Any]
Services = Mapping[str, Mapping[str, Any]]

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "compose" / "kubernetes"
ROLES = "database-roles"

SECRETS = {*named_secrets(), *process_kinds.SECRETS, "PANAPP_EMAIL_URL"}
VARIABLE = re.compile(r"\$\{([A-Z_]+):([?+-])([^}]*)\}")

PORTS = {"postgres": 5432, "redis": 6379}
"""Image → where its service answers."""
PGDATA = "/var/lib/postgresql/data/pgdata"
"""A volume's root belongs to root, and PostgreSQL needs a directory of its own."""
CONTAINER = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
MIGRATED = "until python manage.py migrate --check; do sleep 5; done"


class _Line(dict[str, Any]):
    """An object that is written in one line."""


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, "|" if "\n" in value else None)


def _line(dumper: yaml.SafeDumper, value: _Line) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=True)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(_Line, _line)


def _object(version: str, kind: str, name: str, **fields: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def _reference(name: str, variable: str, *, optional: bool = False) -> Object:
    kind, holder = ("secret", "secrets") if variable in SECRETS else ("configMap", "settings")
    key = {"name": f"panapp-{holder}", "key": variable} | ({"optional": True} if optional else {})
    return _Line(name=name, valueFrom={f"{kind}KeyRef": key})


def _variables(environment: Mapping[str, str]) -> Iterator[Object]:
    """The environment of a container as compose gives it.

    Raises:
        ValueError: a default in compose.yaml is not the declared one, which an absent variable has.
    """
    for name, value in environment.items():
        found = VARIABLE.fullmatch(value)
        if found is None:
            yield from (_reference(secret, secret) for secret, *_ in VARIABLE.findall(value))
            yield _Line(name=name, value=VARIABLE.sub(r"$(\1)", value))
            continue
        variable, operator, word = found.groups()
        if operator == "-" and word not in ("", default_of(variable)):
            raise ValueError(f"{name}: the default in compose.yaml is not the declared one")
        yield _reference(name, variable, optional=operator != "?")


def _mounts(service: Mapping[str, Any]) -> Iterator[tuple[Object, str]]:
    """Each volume of a pod, and where it is mounted."""
    for mount in service.get("volumes", ()):
        source, target, *_ = mount.split(":")
        if source.startswith("./"):
            yield {"name": ROLES, "configMap": {"name": ROLES}}, str(Path(target).parent)
        else:
            yield {"name": source, "persistentVolumeClaim": {"claimName": source}}, target
    for config in service.get("configs", ()):
        held = {"name": f"panapp-{config['source']}", "optional": True}
        yield {"name": config["source"], "configMap": held}, str(Path(config["target"]).parent)
    in_memory = service.get("tmpfs", ())
    for target in ("/run/postgresql", "/tmp") if "postgres" in service["image"] else in_memory:  # noqa: S108
        yield {"name": Path(target).name, "emptyDir": {"medium": "Memory"}}, target


def _probes(service: Mapping[str, Any]) -> Object:
    if "healthcheck" not in service:
        return {}
    check = service["healthcheck"]
    command, seconds = check["test"][1:], int(check["interval"].rstrip("s"))
    probe = {"periodSeconds": seconds, "timeoutSeconds": 10, "failureThreshold": check["retries"]}
    probes = {"readinessProbe": {"exec": {"command": command}, **probe}}
    if command[-1] == "/health/ready":
        live = {"exec": {"command": [*command[:-1], "/health/live"]}, **probe}
        probes["livenessProbe"] = {"initialDelaySeconds": 30, **live}
    return probes


def _port(service: Mapping[str, Any]) -> int | None:
    published = service.get("ports")
    return int(published[0].split(":")[-1]) if published else PORTS.get(service["image"].split(":")[0])


def _pod(name: str, service: Mapping[str, Any], shared: set[str]) -> Object:
    """The template of a service's pods."""
    mounts, port = list(_mounts(service)), _port(service)
    memory = int(service["mem_limit"][:-1]) * {"m": 1, "g": 1024}[service["mem_limit"][-1]]
    own = {"PGDATA": PGDATA} if "postgres" in service["image"] else {}
    # Most processes are idle: a quarter of what they may use is reserved.
    requests = {"cpu": "100m", "memory": f"{memory // 4}Mi"}
    same = {
        "image": service["image"],
        "env": list(_variables(service["environment"] | own)),
        "resources": {"requests": requests, "limits": {"memory": f"{memory}Mi"}},
        "securityContext": CONTAINER,
        "volumeMounts": [{"name": volume["name"], "mountPath": target} for volume, target in mounts],
    }
    arguments = [argument.replace("$$", "$") for argument in service["command"]]
    ports = {"ports": [{"containerPort": port}]} if port else {}
    containers = [{"name": name, "args": arguments, **same, **ports, **_probes(service)}]
    spec: Object = {"containers": containers, "volumes": [volume for volume, _ in mounts]}
    labels = {"app.kubernetes.io/name": name}
    labels |= {f"panapp.network/{network}": "true" for network in service["networks"]}
    labels |= {"panapp.network/proxy": "true"} if "ports" in service else {}
    conditions = {needed["condition"] for needed in service.get("depends_on", {}).values()}
    if "service_completed_successfully" in conditions:
        spec["initContainers"] = [{"name": "migrated", "args": ["sh", "-c", MIGRATED], **same}]
    if "stop_grace_period" in service:
        spec["terminationGracePeriodSeconds"] = int(service["stop_grace_period"].rstrip("s"))
    # A shell that is process 1 would not hear that it is to stop.
    spec |= {"shareProcessNamespace": True} if service.get("init") else {}
    if shared & {volume["name"] for volume, _ in mounts}:
        # The keys lie on one disk: all that mount them run on its node.
        labels["panapp.node/keys"] = "shared"
        term = {"labelSelector": {"matchLabels": {"panapp.node/keys": "shared"}}}
        terms = [term | {"topologyKey": "kubernetes.io/hostname"}]
        spec["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return {"metadata": {"labels": labels}, "spec": spec}


def _workload(name: str, service: Mapping[str, Any], pod: Object) -> Object:
    if service["restart"] == "no":
        pod["spec"]["restartPolicy"] = "OnFailure"
        # It is deleted when it is done, so that an upgrade can make another one of its name.
        job = {"backoffLimit": 10, "ttlSecondsAfterFinished": 600, "template": pod}
        return _object("batch/v1", "Job", name, spec=job)
    selector = {"matchLabels": {"app.kubernetes.io/name": name}}
    spec = {"replicas": 1, "selector": selector, "template": pod}
    # Two servers of one database would damage it.
    set_of = {"serviceName": name} if "postgres" in service["image"] else {}
    return _object("apps/v1", "StatefulSet" if set_of else "Deployment", name, spec={**set_of, **spec})


def _policies(services: Services) -> Iterator[Object]:
    """Who reaches whom inside; the rest is in compose/kubernetes/common."""
    networks = {network for service in services.values() for network in service["networks"]}
    for network in sorted(networks - {"outside"}):
        members = {"matchLabels": {f"panapp.network/{network}": "true"}}
        among = [{"podSelector": members}]
        spec = {"podSelector": members, "ingress": [{"from": among}], "egress": [{"to": among}]}
        spec["policyTypes"] = ["Ingress", "Egress"]
        yield _object("networking.k8s.io/v1", "NetworkPolicy", network, spec=spec)


def _objects(services: Services) -> Iterator[Object]:
    """All objects of a base."""
    volumes = [volume for service in services.values() for volume, _ in _mounts(service)]
    claims = Counter(volume["name"] for volume in volumes if "persistentVolumeClaim" in volume)
    for name in claims:
        size = {"requests": {"storage": "20Gi" if name.endswith("database") else "1Gi"}}
        claim = {"accessModes": ["ReadWriteOnce"], "resources": size}
        yield _object("v1", "PersistentVolumeClaim", name, spec=claim)
    shared = {name for name, pods in claims.items() if pods > 1}
    for name, service in services.items():
        yield _workload(name, service, _pod(name, service, shared))
        if port := _port(service):
            spec = {"selector": {"app.kubernetes.io/name": name}, "ports": [{"port": port}]}
            yield _object("v1", "Service", name, spec=spec)
    yield from _policies(services)


def written() -> dict[str, str]:
    """File below compose/kubernetes/ → its text, of all that is not written by hand."""
    bases: dict[str, dict[str, Any]] = {}
    for name, service in yaml.safe_load((ROOT / "compose.yaml").read_text())["services"].items():
        (base,) = service.get("profiles", ["site"])
        bases.setdefault(base, {})[name] = service
    sql = {f"{ROLES}.sql": (ROOT / "compose" / f"{ROLES}.sql").read_text()}
    files = {f"common/{ROLES}.yaml": [_object("v1", "ConfigMap", ROLES, data=sql)]}
    files |= {f"{base}/services.yaml": list(_objects(services)) for base, services in bases.items()}
    dumped = {
        name: yaml.dump_all(each, Dumper=_Dumper, sort_keys=False, width=200) for name, each in files.items()
    }
    return {name: f"# Made by `make kubernetes`.\n{text}" for name, text in dumped.items()}


if __name__ == "__main__":
    for name, text in written().items():
        (TARGET / name).write_text(text)
