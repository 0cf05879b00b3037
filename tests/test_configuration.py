"""docs/configuration.md tells of every setting that the code reads, with its default."""

import ast
import re
from pathlib import Path

import pytest
from django.conf import settings

DOCS = Path(settings.BASE_DIR, "docs", "configuration.md")
_ROW = re.compile(r"^\| (`[A-Z_`, ]+`) \| (.*?) \| .+ \|$", re.MULTILINE)


def documented() -> dict[str, str]:
    """Return the default cell of each setting."""
    found = {}
    for names, default in _ROW.findall(DOCS.read_text(encoding="utf-8")):
        for name in re.findall(r"`(\w+)`", names):
            assert name not in found, f"{name} stands there twice."
            found[name] = default
    return found


def read_by_the_code() -> dict[str, object]:
    """Return the default of each setting as far as it is a literal, else None."""
    tree = ast.parse(Path(settings.BASE_DIR, "invoicehub", "settings.py").read_text())
    found: dict[str, object] = {}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        match call.func:
            case ast.Attribute(value=ast.Name(id="read")):
                [name, *others] = [a.value for a in call.args if isinstance(a, ast.Constant)] + [
                    k.value.value
                    for k in call.keywords
                    if k.arg == "default" and isinstance(k.value, ast.Constant)
                ]
                found.setdefault(str(name), others[0] if others else None)
    return found


def read_by_gunicorn() -> set[str]:
    text = Path(settings.BASE_DIR, "deploy", "gunicorn.conf.py").read_text()
    return set(re.findall(r'environ\.get\("(\w+)"', text))


def test_every_setting_is_documented_and_nothing_else() -> None:
    assert set(documented()) == set(read_by_the_code()) | read_by_gunicorn()


@pytest.mark.parametrize(
    ("name", "default"),
    [pair for pair in read_by_the_code().items() if pair[1] not in (None, "")],
)
def test_the_documented_default_is_the_code_s(name: str, default: object) -> None:
    shown = str(default).lower() if isinstance(default, bool) else str(default)
    assert shown in documented()[name].replace("`", "").replace(",", "")


def test_compose_sets_nothing_that_nobody_reads() -> None:
    text = Path(settings.BASE_DIR, "deploy", "compose.yaml").read_text()
    names = set(re.findall(r"^    ([A-Z_]+):", text, re.MULTILINE))
    assert len(names) > 8
    assert {name.removesuffix("_FILE") for name in names} <= set(read_by_the_code())


def test_readme_names_no_setting_that_is_not_there() -> None:
    text = Path(settings.BASE_DIR, "README.md").read_text()
    rows = set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE))
    assert rows
    assert rows <= set(documented())
