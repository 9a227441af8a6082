"""Add up a closed recipe's shards under Ray in place of Celery: the same function, the same sum.

Ray is no requirement of the product. Give it an environment of its own:

    python3 -m venv var/ray
    var/ray/bin/pip install -r requirements.txt -r requirements-demo.txt
    var/ray/bin/pip install ray==2.60.0
    var/ray/bin/python -m examples.ray_shards [--reports 20000] [--store s3://bucket/prefix]

It collects made-up reports in an installation of its own, a part of them sent twice, and closes the recipe.
Ray adds up the sealed shards with `panprivacy.recipe.report_shards`, on all cores of this machine. Then a
worker does the same and releases the result, with which Ray's is compared. The store is a directory by
default; another one needs its variables to sign in (docs/operations/install.md), and AWS_ALLOW_HTTP=true if
it speaks plain http. Ray itself writes a token into its own folder of the home directory.
"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

import argparse
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from obstore import get, get_range
from obstore.store import from_url

from panprivacy.encryption import load_private_key
from panprivacy.recipe.document import recipe_of
from panprivacy.recipe.report_shards.manifest import MANIFEST, Manifest, Range, shard_slices
from panprivacy.recipe.report_shards.shard_sum import ShardSum, shard_sum

MEMBERS: dict[str, Any] = {
    "name": "Crashes",
    "question": "On how many devices did it crash?",
    "statistic": "count_nonzero",
    "steps": 7,
    "epsilon": 2.0,
    "delta": 1e-6,
    "cohort_size": 200,
}
REPORTS_OF_A_SHARD = 2_000
"""A hundredth of what the product has, so that a few reports make several shards. Many make some ten."""


@dataclass(frozen=True)
class Sealed:
    """All that a task needs to know of a recipe, wherever it runs.

    Attributes:
        store: address of the store.
        document: the published recipe.
        key: the private key, and its scheme. It decrypts every report, so it belongs on workers only, and is
            deleted with the result.
        manifest: SHA-256 of the sealed manifest; it is in the log.
    """

    store: str
    document: str
    scheme: str
    key: bytes
    manifest: bytes


def sum_of_shard(sealed: Sealed, shard: int, seed: bytes) -> ShardSum:
    """The task. Reads its slices of every sorted segment, each checked against the manifest.

    Args:
        seed: secret, and of this shard alone: of the values that stand in for invalid reports.

    Raises:
        ChangedError: something is not what was sealed.
    """
    published, store = recipe_of(sealed.document), from_url(sealed.store)

    def read(ranges: Sequence[Range]) -> list[bytes]:
        return [
            bytes(
                get_range(
                    store, f"{published.identifier}/{place.name}", start=place.start, length=place.length
                )
            )
            for place in ranges
        ]

    content = bytes(get(store, f"{published.identifier}/{MANIFEST}").bytes())
    manifest = Manifest.from_bytes(content, expected_hash=sealed.manifest)
    slices = shard_slices(manifest, shard, read)
    return shard_sum(published, load_private_key(sealed.scheme, sealed.key), slices, seed)


def sums_under_ray(sealed: Sealed, seeds: Mapping[int, bytes]) -> list[ShardSum]:
    """Of every shard, by number. A task whose process dies is run again, and gives the same sum."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # otherwise Ray sends usage data to its makers
    import ray

    ray.init(include_dashboard=False, log_to_driver=False)
    try:
        task = ray.remote(max_retries=3)(sum_of_shard)
        return list(ray.get([task.remote(sealed, shard, seed) for shard, seed in seeds.items()]))
    finally:
        ray.shutdown()


def total_of(sums: Sequence[ShardSum]) -> ShardSum:
    """Of all shards."""
    return ShardSum(
        tuple(sum(column) for column in zip(*(every.total for every in sums), strict=True)),
        sum(every.reports for every in sums),
        sum(every.duplicates for every in sums),
    )


def sealed_of(recipe: Any) -> tuple[Sealed, dict[int, bytes]]:
    """A recipe whose manifest is sealed, and of each shard that waits its seed."""
    from recipes.models import RecipeKey
    from recipes.operations import recipe_private_key
    from reports.models import SegmentedRecipe
    from reports.store import Step
    from results.aggregation.models import Chunk

    row = SegmentedRecipe.objects.get(recipe=recipe)
    sealed = Sealed(
        store=row.store,
        document=recipe.published.canonical.decode(),
        scheme=RecipeKey.objects.get(recipe=recipe).scheme,
        key=recipe_private_key(recipe=recipe).to_bytes(),
        manifest=bytes(row.manifest),
    )
    chunks = Chunk.objects.filter(recipe=recipe, step=Step.SHARD).order_by("shard")
    return sealed, {chunk.shard: chunk.pk.bytes + bytes(chunk.seed) for chunk in chunks}


def collected(reports: int) -> Any:
    """A closed recipe with this many reports, every third a 1, every tenth sent twice; sorted and sealed."""
    from panprivacy.formats import base64_text
    from publishing.publication import recipe_close, recipe_publish_file
    from recipes.models import Recipe
    from reports import objects
    from reports.operations import reports_submit
    from reports.store import Step
    from results.aggregation.models import Chunk
    from results.aggregation.operations import chunk_process, chunks_plan

    objects.SHARD_REPORTS = min(objects.SHARD_REPORTS, max(REPORTS_OF_A_SHARD, reports // 10))
    recipe = recipe_publish_file(members=MEMBERS, actor=None, simulation=True)
    key, source = recipe.published.public_key.with_tables(), secrets.SystemRandom()
    for start in range(0, reports, 500):
        batch = [
            {
                "nonce": base64_text.encode(source.randbytes(16)),
                "ciphertexts": [base64_text.encode(bytes(key.encrypt(number % 3 == 0, source)))],
            }
            for number in range(start, min(start + 500, reports))
        ]
        for sent in (batch, batch[::10]):
            reports_submit(recipe=recipe, reports=sent)
    recipe = recipe_close(recipe=recipe, actor=None)
    for step in (Step.SORT, Step.SEAL):
        chunks_plan(recipe=recipe)
        for chunk in Chunk.objects.filter(recipe=recipe, step=step):
            chunk_process(chunk=chunk.pk)
    return Recipe.objects.get(pk=recipe.pk)


def main() -> int:
    """Collect, add up under Ray, have workers do the same, and compare."""
    parser = argparse.ArgumentParser(description="Add up a closed recipe's shards under Ray.")
    parser.add_argument("--reports", type=int, default=20_000, help="default: 20,000")
    parser.add_argument("--store", help="address of an object store; a directory by default")
    options = parser.parse_args()
    if find_spec("ray") is None:
        raise SystemExit("Ray is not installed here: this file's first lines say how")
    with tempfile.TemporaryDirectory(prefix="panapp-ray-") as directory:
        os.environ["PANAPP_DATA_DIR"] = directory
        os.environ["PANAPP_REPORT_STORE"] = options.store or Path(directory, "reports").as_uri()
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")
        return compared(options.reports)


def compared(reports: int) -> int:
    """0 if both have the same."""
    import django

    import panapp  # noqa: F401  # puts the apps on the import path

    django.setup()
    from django.core.management import call_command

    from results.models import Release
    from simulations.installation.services import running_services, wait_until

    call_command("migrate", verbosity=0)
    recipe = collected(reports)
    sealed, seeds = sealed_of(recipe)
    started = time.perf_counter()
    found = total_of(sums_under_ray(sealed, seeds))
    seconds = time.perf_counter() - started
    estimated = recipe.published.calibrated_statistic.estimate(list(found.total), found.reports)
    say(
        f"Ray: {found.reports:,} reports in {len(seeds)} shards, {found.duplicates:,} came twice; "
        f"estimate {estimated.values[0]:.2f}, in {seconds:.1f} s with its start"
    )
    with running_services(workers=os.cpu_count() or 1):
        started = time.perf_counter()
        wait_until(Release.objects.filter(recipe=recipe).exists, 3_600)
        seconds = time.perf_counter() - started
    release = Release.objects.get(recipe=recipe)
    say(
        f"Celery: {release.reports:,} reports; estimate {release.values[0]:.2f}, in {seconds:.1f} s with the "
        "start of its worker"
    )
    same = (found.reports, tuple(estimated.values)) == (release.reports, tuple(release.values))
    say("the same" if same else "NOT the same")
    return 0 if same else 1


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    console.run(main)
