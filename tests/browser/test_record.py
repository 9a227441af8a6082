"""The record of processing, as people read it, print it and fill it in."""

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser

from tests.browser.accessibility import AXE
from tests.collections.pages.recipe.test_record import RECIPES, command

pytestmark = pytest.mark.django_db(transaction=True)

BROKEN = """() => [...document.querySelectorAll("main th, main td")].flatMap((cell) => {
    const found = [], texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode;
        for (const word of text.data.matchAll(/[A-Za-z]{2,}/g)) {
            const range = document.createRange();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            if (range.getClientRects().length > 1 && !/[/\\d]/.test(cell.textContent)) found.push(word[0]);
        }
    }
    return found;
})"""
"""Words on several lines, in cells that have no address or hash."""

ENTRY = """() => {
    const cell = document.querySelector(".to-fill td"), table = cell.closest("table");
    return [cell.offsetWidth / table.offsetWidth, cell.offsetHeight];
}"""


@pytest.mark.parametrize("form", ["page", "file"])
@pytest.mark.parametrize(("width", "media"), [(1280, "screen"), (400, "screen"), (700, "print")])
def test_record_can_be_read_and_filled_in(
    live_server: Any, browser: Browser, tmp_path: Path, form: str, width: int, media: Any
) -> None:
    recipe = RECIPES["two servers"][0]()
    file = tmp_path / "record.html"
    file.write_text(command(str(recipe.identifier), "--format", "html"))
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.emulate_media(media=media)
    address = f"{live_server.url}{reverse('recipe-record', args=[recipe.identifier])}"
    page.goto(address if form == "page" else file.as_uri())
    assert page.evaluate(BROKEN) == []
    share, height = page.evaluate(ENTRY)
    assert share >= 0.59
    assert height >= 60
    page.evaluate(AXE)
    assert page.evaluate("axe.run({ preload: false }).then(({ violations }) => violations)") == []
    page.close()
