"""The container image: its Dockerfile by a linter, and built and run by the example of its README."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

ROOT: Path = settings.BASE_DIR
(EXAMPLE,) = re.findall(r"```sh\n(.*?)```", (ROOT / "compose" / "README.md").read_text(), re.DOTALL)
SECONDS = 900
PRODUCT = re.compile(r"(collections|devices_sim|panapp|panprivacy|research)/|manage\.py")
USERS = "/usr/share/base-passwd/passwd.master"


def test_hadolint_finds_no_fault_in_the_dockerfile() -> None:
    program = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([program, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_example_of_the_image_builds_and_serves(tmp_path: Path) -> None:
    """Commands of Docker are carried out without it: `docker_steps`."""
    for program in ("unshare", "setpriv", "ip", "npm", "git"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    apart = ["unshare", "--mount", "--propagation", "private"]
    copied = f"mount -t tmpfs tmpfs {tmp_path}; cd {tmp_path}; mkdir u w; test -e {USERS}"
    copied += " && mount -t overlay overlay -o lowerdir=/,upperdir=u,workdir=w ."
    if subprocess.run([*apart, "sh", "-c", copied], capture_output=True, check=False).returncode:
        pytest.skip("only root can make copies of a machine, which must be of Debian's family")
    script = f"""set -eu
mount -t tmpfs tmpfs {tmp_path}
cd {tmp_path}
export PYTHONPATH={ROOT}
docker() {{
    apart="unshare --net --pid --fork --kill-child"
    [ "$1" != build ] || apart=
    $apart {sys.executable} -m tests.panapp.docker_steps {tmp_path} "$@"
}}
{EXAMPLE}
docker run panapp find . -name "*.py"
"""
    done = subprocess.run(
        [*apart, "sh", "-c", script], capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr[-3000:]
    printed, _, files = done.stdout.partition("healthy\n")
    assert files, printed[-3000:]
    listed = ["git", "ls-files", "*.py"]
    kept = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert {name.removeprefix("./") for name in files.split()} == {
        name for name in kept if PRODUCT.match(name)
    }
