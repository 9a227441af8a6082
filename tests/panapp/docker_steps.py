"""`docker build` and `docker run` without a daemon or base images, for tests as root on Linux.

Run as `python -m tests.panapp.docker_steps FOLDER build …` or `… run …`, in a mount namespace of its own. A
stage begins as a copy-on-write copy of this machine, whose Python and Node stand for those of the base
images; its Python has no packages but pip. The Dockerfile's instructions run in it as they are.
"""

import argparse
import json
import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from docker.utils.build import exclude_paths

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(sys.base_prefix) / "bin" / "python3"
ENVIRONMENT = "/opt/python"
PASSED_ON = ("PIP_", "npm_", "NODE_EXTRA", "SSL_CERT")
"""How this machine finds packages: only while the image is built."""
SECONDS = 120


def instructions(text: str) -> list[tuple[str, str]]:
    """A Dockerfile's instructions with their arguments."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(name, rest) for name, rest in lines]


def run(*command: str | Path, **options: Any) -> "subprocess.CompletedProcess[Any]":
    return subprocess.run(command, **{"check": True, **options})


class Stage:
    """A stage; the last one is the image."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.folder, self.user, self.command = "/", "0", [""]
        self.variables = {"PATH": f"{ENVIRONMENT}/bin:{os.environ['PATH']}", "HOME": "/root"}
        for name in ("root", "upper", "work"):
            (folder / name).mkdir(parents=True)
        layers = f"lowerdir=/,upperdir={folder / 'upper'},workdir={folder / 'work'}"
        run("mount", "-t", "overlay", "overlay", "-o", layers, self.root)
        for name in ("dev", "proc"):
            run("mount", "--rbind", f"/{name}", self.root / name)
        for name in ("passwd", "group"):
            # The users that a Debian image has.
            shutil.copy(f"/usr/share/base-passwd/{name}.master", self.inside(f"etc/{name}"))
        for place in PYTHON.parents:
            # It may be a user's own.
            self.inside(str(place)).chmod(0o755)
        self.run([str(PYTHON), "-m", "venv", ENVIRONMENT], {})

    def inside(self, path: str) -> Path:
        """Where a path of the image is outside; relative ones begin at its working directory."""
        return self.root / str(Path(self.folder, path)).lstrip("/")

    def entering(self, command: list[str]) -> list[str]:
        user = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
        user += ["--no-new-privs", "--bounding-set=-all"]
        entered = ["chroot", str(self.root), "env", f"--chdir={self.folder}"]
        return [*entered, *([] if self.user == "0" else user), *command]

    def run(self, command: list[str], variables: dict[str, str], **options: Any) -> Any:
        return run(*self.entering(command), env=self.variables | variables, **options)


def copied(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def context(folder: Path) -> Path:
    """What is sent to the builder: what git has, without what .dockerignore leaves out."""
    listed = run("git", "ls-files", "-z", cwd=ROOT, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        copied(ROOT / name, (folder / name).parent)
    kept = exclude_paths(str(folder), (folder / ".dockerignore").read_text().splitlines())
    for path in folder.rglob("*"):
        if path.is_file() and str(path.relative_to(folder)) not in kept:
            path.unlink()
    return folder


def matching(folder: Path, source: str) -> list[Path]:
    """What a COPY names: at least one file or folder."""
    found = list(folder.glob(source)) if "*" in source else [folder / source]
    if not found:
        raise FileNotFoundError(source)
    return found


def build(folder: Path) -> Stage:
    """Carry out the Dockerfile; its last stage."""
    sent = context(folder / "context")
    stages: dict[str, Stage] = {}
    own = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    for name, given in instructions((ROOT / "Dockerfile").read_text()):
        match name:
            case "FROM":
                stage = stages[given.partition(" AS ")[2]] = Stage(folder / f"stage-{len(stages)}")
                defaults: dict[str, str] = {}
            case "WORKDIR":
                stage.folder = given
                stage.inside(".").mkdir(parents=True, exist_ok=True)
            case "ENV":
                stage.variables |= dict(each.split("=", 1) for each in shlex.split(given))
            case "ARG":
                defaults |= dict(each.split("=", 1) for each in shlex.split(given))
            case "COPY":
                option, *sources, target = given.split() if given.startswith("--") else ["", *given.split()]
                other = stages[option.removeprefix("--from=")] if option else None
                for source in sources:
                    named = [other.inside(source)] if other else matching(sent, source)
                    for found in named:
                        copied(found, stage.inside(target))
            case "RUN":
                stage.run(["sh", "-c", given], own | defaults)
            case "USER":
                stage.user = given
            case "CMD":
                stage.command = json.loads(given)
            case "LABEL" | "EXPOSE":
                pass
            case _:
                raise ValueError(f"{name} is unknown here")
    return stage


def start(image: Stage, volumes: Path, arguments: list[str]) -> None:
    """Run a container to its end or, if it is detached, until it is healthy."""
    parser = argparse.ArgumentParser()
    for option in ("--env-file", "--volume", "--tmpfs", "--cap-drop", "--publish", "--name"):
        parser.add_argument(option)
    for flag in ("--rm", "--detach", "--read-only"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("image", choices=["panapp"])
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    lines = Path(given.env_file).read_text().splitlines() if given.env_file else []
    variables = dict(line.split("=", 1) for line in lines)
    if given.volume:
        name, _, target = given.volume.partition(":")
        if not (volumes / name).exists():
            # A new volume has what the image has there.
            run("cp", "--archive", image.inside(target), volumes / name)
        run("mount", "--bind", volumes / name, image.inside(target))
    if given.read_only:
        run("mount", "-o", "remount,bind,ro", image.root)
        run("mount", "-t", "tmpfs", "tmpfs", image.inside(given.tmpfs))
    run("ip", "link", "set", "lo", "up")
    if not given.detach:
        printed = image.run(given.command, variables, stdout=subprocess.PIPE, text=True).stdout
        sys.stdout.write(printed)
        return
    probe = ["python", "-m", "panapp.probe", "/health/ready"]
    with subprocess.Popen(image.entering(image.command), env=image.variables | variables) as server:
        deadline = time.monotonic() + SECONDS
        while image.run(probe, variables, check=False).returncode:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the container is not healthy")
            time.sleep(1)
        server.terminate()
    sys.stdout.write("healthy\n")


def main(place: str, operation: str, *arguments: str) -> None:
    folder = Path(place)
    if operation == "build":
        (folder / "image").write_bytes(pickle.dumps(build(folder)))
    else:
        start(pickle.loads((folder / "image").read_bytes()), folder, list(arguments))  # noqa: S301  # our own


if __name__ == "__main__":
    main(*sys.argv[1:])
