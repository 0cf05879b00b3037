"""manage.py import_invoices: exit codes, the table of problems, twice."""

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from invoices import importing
from invoices.models import Invoice, Organization
from tests.invoices.importing.files import file_of, row

DOCUMENT = settings.BASE_DIR / "docs" / "import.md"


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Import = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, organization: Organization) -> Import:
    def run(content: bytes, *arguments: str, slug: str = organization.slug) -> Ran:
        path, out, err, code = tmp_path / "march.csv", StringIO(), StringIO(), 0
        path.write_bytes(content)
        words = (str(path), "--organization", slug, *arguments)
        try:
            call_command("import_invoices", *words, stdout=out, stderr=err)
        except CommandError as refusal:
            code = refusal.returncode
            err.write(str(refusal))
        return Ran(code, out.getvalue(), err.getvalue())

    return run


def test_a_good_file_is_imported_with_exit_code_0(run: Import) -> None:
    ran = run(file_of(row(), row("A-2", currency="EUR")))
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "Read as UTF-8, delimiter comma, decimal mark “.”.",
        "Total €1,250.00",
        "Total ₦1,250.00",
        "2 invoices (2 lines, 1 new customers) imported as drafts.",
        "2 have no customer name, and will show none.",
    ]
    assert Invoice.objects.count() == 2


@pytest.mark.parametrize("name", ["nowhere.csv", "x" * 5_000, "a\0b"])
def test_a_file_that_cannot_be_is_told(organization: Organization, name: str) -> None:
    with pytest.raises(CommandError, match="There is no file") as refused:
        call_command("import_invoices", name, "--organization", organization.slug)
    assert refused.value.returncode == 2


def test_a_dry_run_changes_nothing(run: Import) -> None:
    ran = run(file_of(row()), "--dry-run")
    assert (ran.code, Invoice.objects.count()) == (0, 0)
    assert "would be imported; nothing changed." in ran.out


def test_problems_are_a_table_on_stderr_with_exit_code_1(run: Import) -> None:
    ran = run(file_of(row(), row("A-2", amount="[red]much[/red]")))
    assert (ran.code, Invoice.objects.count()) == (1, 0)
    assert re.search(r"3 +amount +\[red\]much\[/red\] +This is no number\.", ran.err)
    assert "Nothing was imported: 1 problem" in ran.err
    assert "much" not in ran.out


def test_twice_is_safe_and_says_what_exists(run: Import) -> None:
    content = file_of(row(), row("A-2"))
    assert run(content).code == 0
    again = run(content)
    assert (again.code, Invoice.objects.count()) == (1, 2)
    assert again.err.count("This invoice exists already.") == 2
    skipping = run(content, "--skip-existing")
    assert (skipping.code, Invoice.objects.count()) == (0, 2)
    assert "2 existed already and were left out." in skipping.out


def test_many_problems_are_counted_by_column(run: Import) -> None:
    ran = run(file_of(*(row(f"A-{n}", amount="x") for n in range(60))))
    assert "60 problems, of which the first 50 are shown (amount 60)" in ran.err


def test_what_must_be_said_names_the_options(run: Import) -> None:
    content = file_of(row(issued_on="03/04/2026", due_on="05/06/2026"))
    ran = run(content)
    assert ran.code == 1
    assert "Say it with --dates dmy|mdy or --decimal ,|." in ran.err
    assert run(content, "--dates", "dmy").code == 0


def test_the_delimiter_can_be_said(run: Import) -> None:
    content = file_of(row()).replace(b",", b";")
    assert run(content, "--delimiter", "semicolon").code == 0
    wrong = run(content, "--delimiter", "colon")
    assert wrong.code == 2
    assert "--delimiter: The delimiter must be one of: comma, semicolon, tab, bar." in wrong.err


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04"])
def test_what_cannot_be_read_is_exit_code_2(run: Import, content: bytes) -> None:
    assert run(content).code == 2


def test_an_unknown_organization_or_file_is_exit_code_2(
    run: Import, organization: Organization, tmp_path: Path
) -> None:
    assert run(file_of(row()), slug="nobody").code == 2
    with pytest.raises(CommandError) as refusal:
        call_command("import_invoices", str(tmp_path / "none"), "--organization", organization.slug)
    assert refusal.value.returncode == 2


def test_the_documents_example_is_the_sample_and_its_columns_are_all(run: Import) -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    [example] = re.findall(r"```csv\n(.*?)```", document, re.DOTALL)
    assert example == importing.SAMPLE
    assert run(example.encode()).code == 0
    named = re.findall(r"^\| `(\w+)`", document, re.MULTILINE)
    assert named == [column.name for column in importing.COLUMNS]


def test_the_documents_options_are_the_commands(run: Import, capsys: object) -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    for option in ("--dry-run", "--skip-existing", "--delimiter", "--dates", "--decimal"):
        assert option in document
