"""Who may enter and change invoices."""

from django.contrib.auth.models import User
from django.test import Client

from invoices.models import Customer, Invoice
from tests.invoices.drafts.form import NEW, TOTALS
from tests.reading import text


def test_viewers_may_not_enter_and_see_no_buttons(
    client: Client, viewer: User, invoice: Invoice
) -> None:
    client.force_login(viewer)
    for page in (NEW, f"/invoices/{invoice.pk}/edit", "/invoices/customers"):
        assert client.get(page).status_code == 403
    for page in (NEW, f"/invoices/{invoice.pk}/edit", TOTALS):
        assert client.post(page).status_code == 403
    assert "/edit" not in text(client.get(f"/invoices/{invoice.pk}"))


def test_outsiders_find_nothing_to_edit(client: Client, outsider: User, invoice: Invoice) -> None:
    client.force_login(outsider)
    assert client.get(f"/invoices/{invoice.pk}/edit").status_code == 404
    assert client.post(f"/invoices/{invoice.pk}/edit").status_code == 404


def test_other_methods_are_refused(as_owner: Client, invoice: Invoice) -> None:
    assert as_owner.get(TOTALS).status_code == 405
    assert as_owner.post("/invoices/customers").status_code == 405
    for page in (NEW, f"/invoices/{invoice.pk}/edit"):
        assert as_owner.put(page).status_code == 405


def test_the_form_holds_no_inline_script_or_style(as_owner: Client, customer: Customer) -> None:
    page = text(as_owner.get(NEW))
    assert " style=" not in page
    assert " onclick=" not in page
