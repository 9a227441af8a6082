"""The curve's library is there or not: without it, only recipes with a joint key are refused."""

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["py_arkworks_bls12381"] = None  # as if it were not installed
import django
import panapp
django.setup()
import joint_key.leader.tasks, panapp.helper_urls, panapp.urls
from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.trust_models.joint_key import KEY_BYTES, STRING_BYTES, JointKeyServers
from publishing import TRUST_MODELS
for trust in (Trust.TWO_SERVER, Trust.JOINT_KEY):
    print(TRUST_MODELS[trust].unavailable({trust: None}) or "available")
servers = JointKeyServers(
    helper_url="https://helper.example/helper",
    helper_verification_key=bytes(32),
    keys=(bytes(KEY_BYTES), bytes([1] * KEY_BYTES)),
    strings=(bytes(STRING_BYTES), bytes(STRING_BYTES)),
)
try:
    servers.require_made({})
except FieldError as error:
    print(error)
"""

MISSING = "py-arkworks-bls12381 is not installed: install panprivacy[joint-key]"


def test_site_without_the_curve_refuses_joint_keys_only() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={"DJANGO_SETTINGS_MODULE": "tests.settings", "PATH": ""},
        check=False,
    )
    assert ran.stdout.splitlines() == ["available", MISSING, f"trust: cannot be joint_key here: {MISSING}"], (
        ran.stderr
    )
