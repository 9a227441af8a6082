"""What no page may have: violations of accessibility, and what makes it scroll sideways."""

from axe_playwright_python.sync_playwright import Axe

from .conftest import Visitor

AXE = Axe().axe_script

OTHERS = "#swagger-ui, .search-label-icon"
"""Markup of others, that no template of ours changes: Swagger's page, and the sign that Django's script sets
before the filter of a list to choose from (a label for the eye on what has none, `aria-label` on a span)."""

# Preloading would put imported style sheets into the page, which its policy refuses. To list all that is as
# it should be, too, takes several times as long.
LOOK = """async (others) => {
    document.querySelectorAll(others).forEach((one) => one.remove());
    // Django's own pages pass slowly from one mode to the other.
    document.getAnimations().forEach((one) => one instanceof CSSTransition && one.finish());
    const rules = { "label-content-name-mismatch": { enabled: true } };  // an experimental one
    const { violations } = await axe.run({ preload: false, resultTypes: ["violations"], rules });
    const { scrollWidth, clientWidth } = document.documentElement;
    return [
        ...violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`),
        ...(scrollWidth > clientWidth ? [`scrolls sideways by ${scrollWidth - clientWidth}`] : []),
    ];
}"""


def violations(visitor: Visitor) -> list[str]:
    """Of the page that is open. Without scripts nothing is looked for: axe is one."""
    if not visitor.has_scripts:
        return []
    if visitor.page.evaluate("typeof axe") == "undefined":  # half a megabyte, once for each page
        visitor.page.evaluate(AXE)
    return list(visitor.page.evaluate(LOOK, OTHERS))
