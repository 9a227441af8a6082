"""The npm package as strangers install it: its file in an empty folder, with the examples of its README."""

import base64
import json
import re
import subprocess
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.trust_models.single_server import OneServer
from tests.devices_web import vectors
from tests.panprivacy.device.server import VERIFICATION_KEY, MemoryServer, listening
from tests.peers.node_packages import installed

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent.parent
SECONDS = 300
PAGE_EXAMPLE, NODE_EXAMPLE = re.findall(
    r"```[tj]s\n(.*?)```", (ROOT / "devices_web" / "README.md").read_text(), re.DOTALL
)
STRICT = {"strict": True, "target": "ES2022", "lib": ["ES2023", "DOM"], "types": [], "noEmit": True}
"""Without `skipLibCheck`: the types of the package are checked, too."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """devices_web with its packages, and what is made of it."""
    folder = tmp_path_factory.mktemp("clone")
    (folder / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
    copy = installed(ROOT / "devices_web", folder / "devices_web")
    for program in ("build.mjs", "package.mjs"):
        subprocess.run(["node", program], cwd=copy, check=True, timeout=SECONDS)
    return copy


@pytest.fixture(scope="module")
def package(clone: Path) -> Path:
    (file,) = (clone / "build").glob("*.tgz")
    return file


@pytest.fixture
def stranger(package: Path, tmp_path: Path) -> Path:
    """A folder with nothing but the package. The network is not asked: the package needs no other."""
    command = ["npm", "install", "--offline", "--no-audit", "--no-fund", str(package)]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=SECONDS)
    assert {path.name for path in (tmp_path / "node_modules").glob("[!.]*")} == {"devices-web"}
    return tmp_path


def test_package_has_the_module_its_types_and_licences_only(package: Path) -> None:
    with tarfile.open(package) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
        described = json.load(archive.extractfile("package/package.json"))  # type: ignore[arg-type]
    types = {name for name in names if re.fullmatch(r"types/([a-z_]+/)?[a-z_0-9]+\.d\.ts", name)}
    assert names - types == {"README.md", "LICENSE", "NOTICES.txt", "package.json", "devices-web.js"}
    assert not [name for name in types if name.startswith(("types/extension", "types/try", "types/verify"))]
    assert list(described["exports"]) == ["."]
    assert not {"scripts", "dependencies", "bin", "private"} & set(described)


def test_publint_finds_no_fault_in_the_package(package: Path, tmp_path: Path) -> None:
    peer = installed(ROOT / "tests" / "peers" / "node_publint", tmp_path / "publint")
    command = ["node_modules/.bin/publint", "run", str(package), "--strict"]
    done = subprocess.run(command, cwd=peer, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "resolution",
    [
        {"module": "NodeNext", "moduleResolution": "NodeNext"},
        {"module": "ESNext", "moduleResolution": "Bundler"},
    ],
    ids=["node", "bundler"],
)
def test_example_for_pages_has_the_types_it_uses(
    stranger: Path, clone: Path, resolution: dict[str, str]
) -> None:
    (stranger / "page.mts").write_text(PAGE_EXAMPLE)
    (stranger / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT | resolution}))
    command = [clone / "node_modules" / ".bin" / "tsc", "--project", "."]
    done = subprocess.run(command, cwd=stranger, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stdout


def test_example_for_node_reports_to_a_site(stranger: Path) -> None:
    draft = RecipeDraft.from_mapping(
        {
            "name": "Example",
            "question": "How many?",
            "statistic": "count_nonzero",
            "steps": 3,
            "epsilon": 2.0,
            "delta": 1e-6,
            "cohort_size": 100,
        }
    )
    key = vectors.private_key()
    server = MemoryServer(draft.publish(OneServer.of(key.public_key), datetime.now(UTC)), key)
    (stranger / "device.mjs").write_text(NODE_EXAMPLE)
    with listening(server) as site:
        arguments = [site, server.recipe.identifier, base64.b64encode(VERIFICATION_KEY).decode()]
        command = ["node", "device.mjs", *arguments]
        done = subprocess.run(
            command, cwd=stranger, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        arguments[-1] = base64.b64encode(bytes(32)).decode()
        refused = subprocess.run(
            ["node", "device.mjs", *arguments],
            cwd=stranger,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    assert (done.stdout, done.stderr) == ("accepted\n", "")
    assert len(server.reports) == 1
    # The reason is not lost in the module's source.
    reason = r"\[?RecipeVerificationError\]?: the signature is not the server's$"
    assert re.search(reason, refused.stderr, re.MULTILINE)
    assert max(map(len, refused.stderr.splitlines())) < 400
