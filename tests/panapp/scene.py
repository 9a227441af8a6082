"""Recipes and files of commands, and environments of production with the settings that they load."""

import base64
import os
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from django.core.exceptions import ImproperlyConfigured

from panapp.generate_secrets import named_secrets
from storage.key_halves import public_half

MEMBERS = {
    *("recipe", "statistic", "devices", "sampled", "reports", "released", "reason", "estimate"),
    *("standard_error", "interval", "truth", "privacy", "seconds"),
}
"""Of the object that `collect` prints, whatever the statistic."""

SHUFFLE_HISTOGRAM = {"statistic": "shuffle_histogram", "cohort_size": 120, "k": 3}


def shuffled_members(statistic: dict[str, Any]) -> dict[str, Any]:
    """A recipe file with a weak promise, which takes few users and messages."""
    return {
        "name": "Models",
        "question": "Which models are in use?",
        "epsilon": 4.0,
        "delta": 0.01,
    } | statistic


def values_file(directory: Path, *values: object) -> Path:
    path = directory / "values.csv"
    path.write_text("device,value\n" + "".join(f"d{n},{value}\n" for n, value in enumerate(values)))
    return path


ROOT = Path(__file__).resolve().parents[2]


REQUIRED = {
    "PANAPP_SECRET_KEY",
    "PANAPP_SIGNING_KEY",
    "PANAPP_KEY_ENCRYPTION_KEY",
    "PANAPP_ALLOWED_HOSTS",
    "DATABASE_URL",
}


REQUIRED_BY_ROLE = {
    "all-in-one": REQUIRED | {"CELERY_BROKER_URL"},
    "leader": REQUIRED | {"CELERY_BROKER_URL", "PANAPP_LEADER_URL", "PANAPP_HELPER_URL", "PANAPP_HELPER_KEY"},
    "helper": REQUIRED | {"PANAPP_HELPER_URL", "PANAPP_LEADER_KEY"},
    "shuffler": REQUIRED | {"PANAPP_SHUFFLER_URL", "PANAPP_ANALYZER_KEY"},
    "issuer": REQUIRED
    | {"PANAPP_ISSUER_URL", "PANAPP_SITE_KEY", "PANAPP_ATTESTER_URL", "PANAPP_ATTESTER_KEY"},
    "relay": REQUIRED | {"PANAPP_RELAY_GATEWAYS"},
    "attester": REQUIRED | {"PANAPP_ATTESTER_URL", "PANAPP_ISSUER_URL", "PANAPP_ISSUER_KEY"},
}


PLACES = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
"""All that an environment made here inherits: where programs and modules lie."""


OTHER_KEY = base64.b64encode(public_half(bytes(range(32)))).decode()


VALUES = {
    "PANAPP_ALLOWED_HOSTS": "telemetry.example",
    "DATABASE_URL": "postgres://panapp@database/panapp",
    "CELERY_BROKER_URL": "redis://broker:6379/0",
    "PANAPP_LEADER_URL": "https://leader.example/leader",
    "PANAPP_HELPER_URL": "https://helper.example/helper",
    "PANAPP_LEADER_KEY": OTHER_KEY,
    "PANAPP_HELPER_KEY": OTHER_KEY,
    "PANAPP_SHUFFLER_URL": "https://shuffler.example/shuffler",
    "PANAPP_SHUFFLER_KEY": OTHER_KEY,
    "PANAPP_ANALYZER_KEY": OTHER_KEY,
    "PANAPP_ISSUER_URL": "https://issuer.example/issuer",
    "PANAPP_ISSUER_KEY": OTHER_KEY,
    "PANAPP_RELAY_URL": "https://relay.example/relay/hospital",
    "PANAPP_SITE_KEY": OTHER_KEY,
    "PANAPP_ATTESTER_URL": "https://attester.example/attester",
    "PANAPP_ATTESTER_KEY": OTHER_KEY,
    "PANAPP_RELAY_GATEWAYS": "site=https://telemetry.example,site/helper=https://helper.example",
}


def complete(role: str) -> dict[str, str]:
    """A complete environment of production: nothing else is inherited."""
    return {
        **PLACES,
        "PANAPP_MODE": "production",
        "PANAPP_ROLE": role,
        **named_secrets(),
        **{name: value for name, value in VALUES.items() if name in REQUIRED_BY_ROLE[role]},
    }


def load(environment: dict[str, str]) -> SimpleNamespace:
    """Execute the module of the settings with this environment alone, as a process does at its start."""
    with patch.dict(os.environ, environment, clear=True):
        return SimpleNamespace(**runpy.run_path(str(ROOT / "panapp" / "settings.py")))


def refusal(environment: dict[str, str]) -> str:
    """Why they do not load."""
    with pytest.raises(ImproperlyConfigured) as error:
        load(environment)
    return str(error.value)
