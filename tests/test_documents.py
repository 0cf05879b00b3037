"""What the documents name is there: commands with their options, files, sections."""

import re
from argparse import ArgumentParser
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class

ROOT = Path(settings.BASE_DIR)
DOCUMENTS = ["README.md", "CHANGELOG.md", *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))]

_COMMAND = re.compile(r"manage\.py ([a-z]\w+)([^`|#;&\n]*)")
# The same on hosts with systemd.
_RUN = re.compile(r"deploy/manage ([a-z]\w+)([^`|#;&\n]*)", re.MULTILINE)
_OPTION = re.compile(r"(?<!\S)--[a-z][\w-]+")
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def commands_in(path: str) -> list[tuple[str, list[str]]]:
    """Return each command that the document names, with the options it gives to it."""
    text = re.sub(r"\\\n\s*|(?<=manage\.py)\n", " ", text_of(path))
    found = _COMMAND.findall(text)
    for code in _FENCE.findall(text):
        found += _RUN.findall(code)
    return [(name, _OPTION.findall(rest)) for name, rest in found]


@cache
def parser_of(command: str) -> ArgumentParser:
    loaded = load_command_class(get_commands()[command], command)
    parser: ArgumentParser = loaded.create_parser("manage.py", command)
    return parser


@cache
def anchors_of(path: str) -> set[str]:
    """Return the names of the document's sections, as GitHub makes them of the headings."""
    headings = _HEADING.findall(_FENCE.sub("", text_of(path)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS)
def test_the_commands_that_a_document_names_are_there_with_their_options(path: str) -> None:
    for name, options in commands_in(path):
        assert name in get_commands()
        assert set(options) <= set(parser_of(name)._option_string_actions)


def test_commands_are_found_in_the_documents() -> None:
    found = {name for path in DOCUMENTS for name, _ in commands_in(path)}
    assert len(found) > 10
    assert ("check_worker", ["--name"]) in commands_in("docs/operations.md")
    assert ("createsuperuser", []) in commands_in("docs/deployment.md")
    [given] = [options for _, options in commands_in("docs/restore.md") if len(options) > 1]
    assert given[0] == "--backup-taken-at"
    assert given[-1] == "--dry-run"


@pytest.mark.parametrize("path", DOCUMENTS)
def test_the_links_of_a_document_lead_somewhere(path: str) -> None:
    for link in _LINK.findall(_FENCE.sub("", text_of(path))):
        file, _, anchor = link.partition("#")
        target = (ROOT / path).parent.joinpath(file).resolve() if file else ROOT / path
        name = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else link
        if "://" in link:
            continue
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(name), link
