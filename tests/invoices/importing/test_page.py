"""Importing through the page: look first, then all of it once."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from invoices import uploads
from invoices.models import Invoice, Organization, Upload
from tests import factories
from tests.invoices.importing.files import file_of, row


def said(response: Any) -> str:
    assert response.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def send_file(client: Client, content: bytes, name: str = "march.csv", **values: str) -> Any:
    file = SimpleUploadedFile(name, content, content_type="text/csv")
    return client.post("/invoices/import", {"file": file} | values)


def uploaded(client: Client, content: bytes, **values: str) -> str:
    """Upload a file; return the address of its check."""
    answer = send_file(client, content, **values)
    assert answer.status_code == 303
    address: str = answer.headers["Location"]
    return address


def confirmation(browser: Client, address: str) -> dict[str, str]:
    """Return what the page's Import button posts."""
    page = browser.get(address).content.decode()
    found = re.search(r'name="seal" value="([^"]+)"', page)
    return {"confirmed": "1", "seal": found[1] if found else ""}


def test_a_file_is_checked_first_and_imported_on_confirmation(as_owner: Client) -> None:
    lines = (row(), row("A-2", currency="EUR", amount="7.50"))
    address = uploaded(as_owner, file_of(*lines))
    page = said(as_owner.get(address))
    assert "Import 2 invoices?" in page
    assert "€7.50 ₦1,250.00" in page
    assert "New customers 1" in page
    assert "A-1 ada@customer.example Issued 2 Mar 2026 Due 16 Mar 2026 Lines 1 ₦1,250.00" in page
    assert not Invoice.objects.exists()
    done = as_owner.post(address, confirmation(as_owner, address))
    assert done.status_code == 303
    assert done.headers["Location"].startswith("/invoices?imported=")
    assert Invoice.objects.filter(status="draft").count() == 2
    assert "2 invoices were imported from march.csv, as drafts." in said(as_owner.get("/invoices"))


def test_a_double_click_imports_once(as_owner: Client) -> None:
    address = uploaded(as_owner, file_of(row()))
    for _ in range(2):
        done = as_owner.post(address, confirmation(as_owner, address))
        assert done.status_code == 303
        assert done.headers["Location"].startswith("/invoices?imported=")
    assert Invoice.objects.count() == 1
    assert bytes(Upload.objects.get().content) == b""
    assert as_owner.get(address).status_code == 303


def test_problems_stand_in_a_table_by_line_and_nothing_can_be_confirmed(as_owner: Client) -> None:
    address = uploaded(as_owner, file_of(row(amount="much"), row("A-2", due_on="<b>soon</b>")))
    page = as_owner.get(address)
    assert "2 problems" in said(page)
    assert "Line 2 amount much This is no number." in said(page)
    assert "&lt;b&gt;soon&lt;/b&gt;" in page.content.decode()
    assert 'name="confirmed"' not in page.content.decode()
    refused = as_owner.post(address, confirmation(as_owner, address), follow=True)
    assert "Nothing was imported: something is wrong by now." in said(refused)
    assert not Invoice.objects.exists()


def test_what_a_file_does_not_tell_is_chosen_without_a_new_upload(as_owner: Client) -> None:
    address = uploaded(as_owner, file_of(row(issued_on="03/04/2026", due_on="05/06/2026")))
    assert "Day first or month first?" in said(as_owner.get(address))
    assert as_owner.post(address, {"dates": "mdy"}).status_code == 303
    page = said(as_owner.get(address))
    assert "Issued 4 Mar 2026" in page
    assert "Dates month first" in page
    as_owner.post(address, confirmation(as_owner, address))
    assert str(Invoice.objects.get().issued_on) == "2026-03-04"


def test_existing_ones_can_be_left_out(as_owner: Client, organization: Organization) -> None:
    factories.make_invoice(organization, number="A-1")
    address = uploaded(as_owner, file_of(row(), row("A-2")))
    assert "This invoice exists already." in said(as_owner.get(address))
    as_owner.post(address, {"skip_existing": "on"})
    page = said(as_owner.get(address))
    assert "Import 1 invoice?" in page
    assert "Skipped 1 that exists already" in page


def test_a_file_with_nothing_new_says_so(as_owner: Client, organization: Organization) -> None:
    factories.make_invoice(organization, number="A-1")
    address = uploaded(as_owner, file_of(row()), skip_existing="on")
    page = said(as_owner.get(address))
    assert "Nothing to import" in page
    assert "All invoices of this file exist already" in page


def test_what_became_wrong_between_check_and_confirmation_imports_nothing(
    as_owner: Client, organization: Organization
) -> None:
    address = uploaded(as_owner, file_of(row(), row("A-2")))
    assert "Import 2 invoices?" in said(as_owner.get(address))
    factories.make_invoice(organization, number="A-2")
    page = said(as_owner.post(address, confirmation(as_owner, address), follow=True))
    assert "Nothing was imported" in page
    assert Invoice.objects.count() == 1


def test_a_file_beyond_the_limit_names_the_command(
    as_owner: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "LIMIT_BYTES", 10)
    monkeypatch.setattr("invoices.forms.importing.LIMIT_BYTES", 10)
    page = said(send_file(as_owner, file_of(row())))
    assert f"manage.py import_invoices FILE.csv --organization {organization.slug}" in page
    assert not Upload.objects.exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "The file is empty."), (b"PK\x03\x04", "save it as CSV first"), (b" ", "is empty")],
)
def test_a_file_that_is_none_is_refused_in_words(
    as_owner: Client, content: bytes, sentence: str
) -> None:
    answer = send_file(as_owner, content)
    if answer.status_code == 303:
        answer = as_owner.get(answer.headers["Location"], follow=True)
    assert sentence in said(answer)


def test_no_file_and_nonsense_choices_are_refused_in_words(as_owner: Client) -> None:
    assert "Choose a file." in said(as_owner.post("/invoices/import"))
    assert "is not one of the available choices" in said(
        send_file(as_owner, file_of(row()), dates="ymd")
    )


def test_odd_file_names_are_shown_harmlessly(as_owner: Client) -> None:
    answer = send_file(as_owner, file_of(row()), name="a\x07b<i>.csv")
    page = as_owner.get(answer.headers["Location"]).content.decode()
    assert "<i>" not in page


def test_the_upload_is_gone_after_a_day(as_owner: Client) -> None:
    address = uploaded(as_owner, file_of(row()))
    Upload.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert as_owner.get(address).status_code == 404
    assert as_owner.post(address, {"confirmed": "1"}).status_code == 404
    uploaded(as_owner, file_of(row("A-2")))
    assert Upload.objects.count() == 1


def test_the_sample_can_be_downloaded_and_imported(as_owner: Client) -> None:
    sample = as_owner.get("/invoices/import/sample.csv")
    assert sample.headers["Content-Disposition"] == 'attachment; filename="invoices.csv"'
    address = uploaded(as_owner, sample.content)
    assert "Import 2 invoices?" in said(as_owner.get(address))


def test_another_organizations_upload_is_not_there(
    client: Client, owner: User, outsider: User
) -> None:
    client.force_login(owner)
    address = uploaded(client, file_of(row()))
    client.force_login(outsider)
    assert client.get(address).status_code == 404
    assert client.post(address, {"confirmed": "1"}).status_code == 404
    assert not Invoice.objects.exists()


def test_viewers_import_nothing(client: Client, viewer: User) -> None:
    client.force_login(viewer)
    assert client.get("/invoices/import").status_code == 403
    assert send_file(client, file_of(row())).status_code == 403
    assert not Upload.objects.exists()


def test_what_is_imported_is_what_was_shown(as_owner: Client, organization: Organization) -> None:
    """Another tab has the file read otherwise between the look and the click."""
    head = b"number,customer_email,currency,amount,issued_on,due_on"
    line = b'A-1,a@b.example,NGN,"1,230",2026-03-02,2026-03-16'
    address = uploaded(as_owner, head + b"\n" + line + b"\n")
    as_owner.post(address, {"decimal": "."})
    shown = confirmation(as_owner, address)
    as_owner.post(address, {"decimal": ","})
    page = said(as_owner.post(address, shown, follow=True))
    assert "It would be read otherwise by now" in page
    assert not Invoice.objects.exists()


def test_the_preview_says_how_many_have_no_customer_name(as_owner: Client) -> None:
    address = uploaded(as_owner, file_of(row(), row("A-2")))
    page = said(as_owner.get(address))
    assert "2 invoices have no customer name: they will show none." in page
    assert "Import 2 invoices?" in page
