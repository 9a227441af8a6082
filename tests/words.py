"""Patterns of our dialect that the docs, the pages and the code must not have: part of `make check`.

Run as `python -m tests.words` at the root. It prints each line with a pattern, and what to say instead.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PACKAGES = (
    "collections",
    "compose",
    "panapp",
    "panprivacy",
    "devices_sim",
    "research",
    "examples",
    "benchmarks",
)

CONTRACTS = ("panprivacy/*.py",)
"""Whose docstrings and comments are read as a library's reference."""


SAYING = ("collections", "panapp", "panprivacy", "devices_sim", "research")
"""Whose texts people read on pages, in commands and in answers of the API."""

PLAIN = ("compose.yaml", ".importlinter", "Makefile", ".ci/*", ".github/*")
"""Files that are read whole."""

ANYWHERE = {
    r"thereby": "a sentence of its own",
    r"public face": "public API",
    r"(?:this|each|any|which|whichever) rooms?|rooms above": "package",
    r"whoever|whosoever": "the role: a device, an analyst, an attacker",
}
"""Pattern → what to say instead, also in comments and docstrings of Python."""

IN_TEXTS = ANYWHERE | {
    r"of which|of whom": "the noun again",
    r"so many": "the number",
    r"beside": "with, next to, besides",
    r"nobody|somebody|everybody|anybody": "the role: a device, an analyst, an attacker",
    r"where (?:left out|it is|none|no|unset|needed)": "if",
    r"any more": "what holds, or: has ended",
    r"(?-i:(?<!is a )(?<!\.)members?)": "field",
    r"told of|tells of|is told|are told": "notified, shown, logged",
    r"as it stands|stands beside|stands? (?:there|twice|in)": "is in, is shown with, is repeated",
}
"""The same, in what pages, commands and the library say: strings that are no docstrings."""

IN_PROSE = IN_TEXTS | {
    r"where (?:there (?:is|are)|one)": "if",
    r"(?:floor|storey|room|door)s?": "layer, package, ingest endpoint",
    r"ticks?": "poll, check, round",
    r"no longer|used to be|earlier versions?": "what holds, without history",
    r"looked at|a look at|one look(?! alike)|two looks": "checked, read",
}
"""The same, in the docs and on pages."""

KEPT = (
    r"of which|of whom",
    r"so many",
    r"beside",
    r"nobody|somebody|everybody|anybody",
    r"any more",
    r"no longer|used to be|earlier versions?",
    r"where (?:there (?:is|are)|one)",
    r"where (?:left out|it is|none|no|unset|needed)",
    r"ticks?",
)
"""Of `IN_PROSE`, for comments."""

IN_COMMENTS = (
    ANYWHERE
    | {each: IN_PROSE[each] for each in KEPT}
    | {
        r"someone|anyone|everyone|no one": "the role: a device, an analyst, an attacker",
        r"wherever": "if, whenever",
        r"lest": "so that … not",
        r"told|tells?|says?": "shown, has, states, distinguish",
        r"ways?": "path, method, case",
        r"(?:either|every|several|two|both|one) kinds?|kinds? of": "type",
        r"looks?|looked": "check, read",
        r"as (?:above|below)": "the reason",
        r"(?<=, )as (?:there|it|they|some|few|no) (?:\w+ )?(?:is|are|has|have|may)": "because",
    }
)
"""The same, in comments of `CONTRACTS`."""

IN_DOCSTRINGS = IN_COMMENTS | {r"(?<!thing )else": "otherwise"}
"""The same, in docstrings of `CONTRACTS`."""

AT_THE_BEGINNING = re.compile(r"(?:^|[.:;] +)Who [^?]*$")
"""The role is missing, unless it is a question."""

CODE = re.compile(r"`[^`]*`|\]\([^)]*\)|{%.*?%}|{{.*?}}|{#.*?#}|<[^>]*>")
"""What a reader does not read as English."""

IN_TYPESCRIPT = re.compile(r"//.*|^ */?\*.*|\"[^\"]* [^\"]*\"|`[^`]* [^`]*`")
"""Comments, and strings of several words."""


TEST_NAME = re.compile(r"^ *def (test_\w+)", re.MULTILINE)
LONGEST_NAME = 70


def compiled(patterns: Mapping[str, str]) -> list[tuple[re.Pattern[str], str]]:
    """Whole words, in upper or lower case."""
    return [(re.compile(rf"\b(?:{each})\b", re.IGNORECASE), instead) for each, instead in patterns.items()]


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a document or template, without code."""
    fenced = False
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        fence = line.lstrip().startswith("```")
        if not fence and not fenced:
            yield number, CODE.sub("", line)
        fenced ^= fence


def python(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of strings and comments."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            yield from enumerate(token.string.splitlines(), start=token.start[0])


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Comments, without code."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], CODE.sub("", token.string)


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of docstrings, without code."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield from enumerate(CODE.sub("", text).splitlines(), start=node.lineno)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of several words, but no docstrings."""
    tree = ast.parse(path.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if " " in text and id(node) not in docstrings:
                yield node.lineno, " ".join(text.split())


def typescript(path: Path) -> Iterator[tuple[int, str]]:
    """Comments and strings, line by line."""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        yield number, " ".join(IN_TYPESCRIPT.findall(line))


def cut_tables(path: Path) -> Iterator[str]:
    """Tables of a document without a head: an empty line cuts them from it."""
    lines = ["", *path.read_text().splitlines(), ""]
    for number, (before, line, after) in enumerate(zip(lines, lines[1:], lines[2:], strict=False), start=1):
        if not before and line.startswith("|") and not re.match(r"\| ?--", after):
            yield f"{path.relative_to(ROOT)}:{number}: a table without a head: {line}"


def tracked(*patterns: str) -> list[Path]:
    listed = ["git", "ls-files", *patterns]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).exists()]


def findings() -> Iterator[str]:
    """Every line with a pattern, as main prints it."""
    anywhere, in_texts, in_prose = map(compiled, (ANYWHERE, IN_TEXTS, IN_PROSE))
    for path in tracked("*.md", "templates/*.html"):
        for number, line in prose(path):
            yield from found(path, number, line, in_prose)
            if AT_THE_BEGINNING.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: “Who” without a role: {line.strip()}"
    for path in tracked("*.md"):
        yield from cut_tables(path)
    for path in tracked(*(f"{package}/*.py" for package in PACKAGES)):
        text = path.read_text()
        if "migrations" not in path.parts and any(pattern.search(text) for pattern, _ in anywhere):
            for number, line in python(path):
                yield from found(path, number, line, anywhere)
    yield from contracts()
    read = [(path, texts(path)) for path in tracked(*(f"{package}/*.py" for package in SAYING))]
    read += [(path, typescript(path)) for path in tracked("devices_web/src/*.ts")]
    read += [(path, enumerate(path.read_text().splitlines(), start=1)) for path in tracked(*PLAIN)]
    for path, lines in read:
        for number, line in lines:
            yield from found(path, number, line, in_texts)
    for path in tracked("tests/*.py"):
        for name in TEST_NAME.findall(path.read_text()):
            if len(name) > LONGEST_NAME:
                yield f"{path.relative_to(ROOT)}: {name} has {len(name)} characters, at most {LONGEST_NAME}"


def contracts() -> Iterator[str]:
    """Every line of `CONTRACTS` with a pattern."""
    in_comments, in_docstrings = map(compiled, (IN_COMMENTS, IN_DOCSTRINGS))
    for path in tracked(*CONTRACTS):
        for lines, patterns in ((comments(path), in_comments), (docstrings(path), in_docstrings)):
            for number, line in lines:
                yield from found(path, number, line, patterns)


def found(path: Path, number: int, line: str, patterns: list[tuple[re.Pattern[str], str]]) -> Iterator[str]:
    """What one line has of these patterns."""
    for pattern, instead in patterns:
        if match := pattern.search(line):
            yield f"{path.relative_to(ROOT)}:{number}: “{match[0]}”, say {instead}: {line.strip()}"


def main() -> int:
    """Print the findings; the exit code."""
    all_findings = list(findings())
    print(*all_findings, sep="\n", file=sys.stderr)  # noqa: T201  # a command
    return int(bool(all_findings))


if __name__ == "__main__":
    sys.exit(main())
