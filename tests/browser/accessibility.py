"""What no page may have: violations of accessibility, and what makes it scroll sideways."""

from axe_playwright_python.sync_playwright import Axe

from .conftest import Visitor

OTHERS = "#swagger-ui, .search-label-icon"
"""Markup of others, that no template of ours changes: Swagger's page, and the sign that Django's script sets
before the filter of a list to choose from (a label for the eye on what has none, `aria-label` on a span)."""


def violations(visitor: Visitor) -> list[str]:
    """Of the page that is open. Without scripts nothing is looked for: axe is one."""
    if not visitor.has_scripts:
        return []
    visitor.page.evaluate(f"document.querySelectorAll('{OTHERS}').forEach((one) => one.remove())")
    # Django's own pages pass slowly from one mode to the other.
    visitor.page.evaluate(
        "document.getAnimations().forEach((one) => one instanceof CSSTransition && one.finish())"
    )
    # Preloading would put imported style sheets into the page, which its policy refuses. To list all that is
    # as it should be, too, takes several times as long.
    options = {"preload": False, "resultTypes": ["violations"]}
    found = Axe().run(visitor.page, options=options).response["violations"]
    sideways = visitor.page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    listed = [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]
    return listed + ([f"scrolls sideways by {sideways}"] if sideways > 0 else [])
