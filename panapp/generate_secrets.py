"""`python -m panapp.generate_secrets`: fresh secrets, as lines for an environment file.

Not a Django command: those need complete settings, and this is what completes them.
"""

import secrets
import sys

from panapp.environment import fresh_secrets


def lines() -> list[str]:
    """`NAME=value` for every secret of an installation; no value needs quoting."""
    named = {f"PANAPP_{name.upper()}": value for name, value in fresh_secrets().items()}
    named["PANAPP_METRICS_TOKEN"] = secrets.token_urlsafe(32)
    # Read by compose.yaml only.
    named["POSTGRES_PASSWORD"] = secrets.token_urlsafe(32)
    return [f"{name}={value}" for name, value in named.items()]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
