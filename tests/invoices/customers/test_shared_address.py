"""An address that another customer has is asked about first."""

from django.contrib.auth.models import User
from django.test import Client

from invoices.models import Customer, Organization
from tests import factories


def test_an_address_that_another_customer_has_is_asked_about_first(
    client: Client, owner: User, organization: Organization
) -> None:
    client.force_login(owner)
    known = Customer.objects.create(
        organization=organization, name="Mama Put Kitchen", email="ada@mamaput.example"
    )
    form = {"name": "Mama Put Catering", "email": "Ada@mamaput.example"}
    asked = client.post("/customers/new", form).content.decode()
    assert "There is Mama Put Kitchen with this address." in asked
    assert f'href="/customers/{known.pk}"' in asked
    assert "Save all the same" in asked
    assert 'name="shared" value="Ada@mamaput.example"' in asked
    assert Customer.objects.count() == 1
    other = {"name": "Bo", "email": "ada@mamaput.example", "shared": "x@y.example"}
    assert "There is Mama Put Kitchen" in client.post("/customers/new", other).content.decode()
    made = client.post("/customers/new", form | {"shared": "Ada@mamaput.example"})
    assert made.status_code == 302
    assert Customer.objects.count() == 2


def test_a_new_invoice_begins_at_the_customers_page(
    client: Client, owner: User, organization: Organization
) -> None:
    client.force_login(owner)
    invoice = factories.make_invoice(organization)
    page = client.get(f"/customers/{invoice.customer_id}").content.decode()
    address = f"/invoices/new?customer={invoice.customer_id}"
    assert f'href="{address}"' in page
    chosen = f'<option value="{invoice.customer_id}" selected>'
    assert chosen in client.get(address).content.decode()
    assert client.get("/invoices/new?customer=9999999999999999999").status_code == 200
    detail = client.get(f"/invoices/{invoice.pk}").content.decode()
    assert f'href="/customers/{invoice.customer_id}">Mama Put Kitchen</a>' in detail
