"""What pages need to offer checking: for the script, and as lines to paste."""

from django.urls import reverse

from log.public_log.selectors import site_policy


def verification_context() -> dict[str, object]:
    """Keys for `transparency/_verify.html`, from which the browser checks entries."""
    policy = site_policy()
    return {
        "log_key": policy.logs[0].text,
        "witness_keys": " ".join(witness.key.text for witness in policy.witnesses.values()),
    }


def commands_for(identifier: str, site: str, *, released: bool) -> str:
    """Lines to paste: they fetch a recipe, or its result, with its proof and the site's policy, show the
    policy, and check all of it offline.

    Args:
        site: its address, without a slash at the end.
    """
    file = "result.json" if released else "recipe.json"
    content = reverse("api-result" if released else "api-recipe", args=[identifier])
    proof = reverse("api-release-proof" if released else "api-recipe-proof", args=[identifier])
    return (
        f"curl -fsSo {file} {site}{content} -o proof {site}{proof} -o policy {site}{reverse('log-policy')}\n"
        "cat policy\n"
        f"python3 -m panprivacy.recipe.log verify {file} --proof proof --policy policy"
    )


def recompute_commands(identifier: str, site: str, *, fetched: bool) -> str:
    """Lines to paste: they fetch the bundle of a result with the site's policy, and recompute it offline.

    Args:
        site: its address, without a slash at the end.
        fetched: whether the lines fetch anything: not if only accounts may have the bundle.
    """
    # The name that a browser gives the download (`results.bundles_api`).
    file, bundle = f"bundle-{identifier[:12]}.tar", reverse("api-bundle", args=[identifier])
    fetching = f"curl -fsSo {file} {site}{bundle} -o policy {site}{reverse('log-policy')}\n"
    return (
        f"{fetching if fetched else ''}mkdir bundle && tar -xf {file} -C bundle\n"
        "python3 -m panprivacy.recompute bundle --policy policy"
    )
