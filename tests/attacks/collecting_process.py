"""A process of an installation that publishes, collects and releases as standard input says.

`python -m tests.attacks.collecting_process` has the settings of its environment. It answers every line with
one line of JSON.
"""

import json
import os
import secrets
import signal
import sys
from collections.abc import Callable
from typing import Any

import django


def publish() -> dict[str, Any]:
    """A recipe with a full cohort of reports, and the state of a device that has just seen the event."""
    from django.conf import settings
    from django.db import connection

    from ledger.models import Population
    from panprivacy.device.algorithm import ClientAlgorithm
    from recipes.models import RecipeKey
    from tests.scenes import open_recipe

    # Its cohorts of five would use up the budget of a new installation.
    Population.objects.update(epsilon=None, delta=None)
    recipe = open_recipe([0, 1, 2, 0, 3])
    source = secrets.SystemRandom()
    device = ClientAlgorithm(recipe.published)
    state = device.step(device.start(source), True, source)
    if connection.vendor == "postgresql":
        # In the log alone, a page's header may part the sealed key.
        with connection.cursor() as cursor:
            cursor.execute("CHECKPOINT")
    return {
        "pk": recipe.pk,
        "identifier": recipe.identifier,
        "document": recipe.document,
        "snapshot": [bytes(ciphertext).hex() for ciphertext in state.ciphertexts],
        "sealed": bytes(RecipeKey.objects.get(recipe=recipe).sealed).hex(),
        "key_encryption_key": settings.KEY_ENCRYPTION_KEY.hex(),
    }


def release(pk: str) -> dict[str, Any]:
    """Close it, decrypt and add up, release; then clean up as an administrator of PostgreSQL would."""
    from django.db import connection

    from recipes.models import Recipe, RecipeKey
    from tests.scenes import finish

    finish(Recipe.objects.get(pk=pk))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("CHECKPOINT")
    return {"keys": RecipeKey.objects.filter(recipe=pk).count()}


def die_releasing(pk: str) -> dict[str, Any]:
    """As `release`, but killed between the commit and the erasing of the key."""
    from storage.key_slots import KeySlots

    KeySlots.delete = lambda self: os.kill(os.getpid(), signal.SIGKILL)
    return release(pk)


def die_publishing() -> dict[str, Any]:
    """As `publish`, but killed between the writing of the key and the commit."""
    from storage.key_slots import KeySlots

    write = KeySlots.write

    def written(slots: KeySlots, version: int, key: bytes) -> None:
        write(slots, version, key)
        os.kill(os.getpid(), signal.SIGKILL)

    KeySlots.write = written
    return publish()


def upkeep() -> dict[str, Any]:
    """What workers do once a minute."""
    from storage.tasks import erase_unneeded_keys

    erase_unneeded_keys()
    return {}


def main() -> None:
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    commands: dict[str, Callable[..., dict[str, Any]]] = {
        function.__name__: function for function in (publish, release, die_releasing, die_publishing, upkeep)
    }
    for line in sys.stdin:
        name, *arguments = line.split()
        sys.stdout.write(json.dumps(commands[name](*arguments)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
