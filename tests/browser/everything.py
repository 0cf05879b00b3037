"""An organization with invoices in every state, and all pages that people see of it."""

import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from uuid import uuid4

from django.contrib.auth.models import User
from django.test import Client

from deliveries import ledger
from deliveries.models import Delivery
from invoices import branding, bulk_sending, inviting, reminders, tokens
from invoices.models import Invoice, Organization
from tests import factories
from tests.browser.rendered import Rendered, got, posted
from tests.invoices.importing.files import file_of, row
from tests.invoices.settings.test_logo import picture
from tests.ledger import steps

TODAY = date(2026, 3, 2)
Status = Delivery.Status


def make_everything() -> Organization:
    """Make an organization of one owner, with whatever the pages can show."""
    ledger.configure("email", limit=5, rate_per_second=None)
    organization = factories.make_organization(tax_id="NG-20419876-0001")
    owner = factories.make_member(organization, "owner", "owner").memberships.get()
    factories.make_member(organization, "viewer", "viewer")
    for status in (Status.SENT, Status.DEAD, Status.RETRYING, Status.CANCELLED, Status.RUNNING):
        steps.bring_to(factories.make_delivery(_invoice(organization, status)), status)
    factories.make_delivery(_invoice(organization, "queued"))
    _invoice(organization, "draft")
    _invoice(organization, "mend", email="orders@@palmwine.example", amount_minor=None)
    _invoice(organization, "paid", status="paid")
    _invoice(organization, "void", status="void")
    overdue = _invoice(organization, "overdue", status="sent", due_on=TODAY - timedelta(days=400))
    reminders.pause(overdue, user_id=owner.user_id)
    _send_two(organization, owner.user_id)
    branding.keep_logo(organization, branding.read_picture(picture()), user_id=owner.user_id)
    inviting.invite("ada@people.example", "member", by=owner)
    tokens.issue(owner, name="Bookkeeping")
    return organization


def _invoice(organization: Organization, name: str, **values: object) -> Invoice:
    return factories.make_invoice(organization, number=f"INV-{name}", **values)  # type: ignore[arg-type]


def _send_two(organization: Organization, user_id: int) -> None:
    """Send a good one and one that is skipped, together."""
    chosen = [_invoice(organization, "batch"), _invoice(organization, "skipped", email="")]
    bulk_sending.send_many(
        [invoice.pk for invoice in chosen],
        organization=organization,
        user_id=user_id,
        once=uuid4(),
        chosen="2 invoices, ticked",
    )


def browser_of(user: User) -> Client:
    client = Client(headers={"Accept": "text/html"})
    client.force_login(user)
    return client


# The finance pages --------------------------------------------------------------------------------


def pages_of_invoices(organization: Organization) -> Iterator[Rendered]:
    client = browser_of(User.objects.get(username="owner"))
    yield from _lists(client)
    yield got(browser_of(User.objects.get(username="viewer")), "list of a viewer", "/invoices")
    yield from _single_invoices(client)
    yield from _forms(client)


def other_pages(organization: Organization) -> Iterator[Rendered]:
    client = browser_of(User.objects.get(username="owner"))
    yield from _many(client, organization)
    yield from _settings(client)
    yield from _outside(client, organization)


def _lists(client: Client) -> Iterator[Rendered]:
    yield got(client, "list", "/invoices")
    yield got(client, "list of failed ones", "/invoices?tab=failed&sort=-amount&q=mama")
    yield got(client, "list with nothing found", "/invoices?q=nobody")
    yield got(client, "customers", "/customers")
    yield got(client, "removed customers", "/customers?show=removed")
    yield got(client, "batches", "/batches")
    yield got(client, "reminders", "/reminders")
    yield got(client, "reminders of an impossible day", "/reminders?date=2026-02-30")


def _single_invoices(client: Client) -> Iterator[Rendered]:
    by_number = {invoice.number: f"/invoices/{invoice.pk}" for invoice in Invoice.objects.all()}
    for name in ("sent", "dead", "retrying", "cancelled", "mend", "paid", "overdue"):
        yield got(client, f"invoice {name}", by_number[f"INV-{name}"])
    yield got(client, "retry", f"{by_number['INV-dead']}/retry")
    yield got(client, "correct and retry", f"{by_number['INV-dead']}/edit")
    yield got(client, "send again", f"{by_number['INV-sent']}/send-again")
    yield posted(client, "send again without a reason", f"{by_number['INV-sent']}/send-again")
    yield got(client, "mark paid", f"{by_number['INV-sent']}/paid")
    yield posted(client, "mark paid someday", f"{by_number['INV-sent']}/paid", day="soon")
    yield got(client, "void", f"{by_number['INV-sent']}/void")
    yield got(client, "edit", f"{by_number['INV-draft']}/edit")
    yield got(client, "no document", f"{by_number['INV-mend']}/pdf", status=404)


def _forms(client: Client) -> Iterator[Rendered]:
    customer = Invoice.objects.get(number="INV-mend").customer_id
    yield got(client, "new invoice", "/invoices/new")
    wrong = {"currency": "X", "lines-TOTAL_FORMS": 1, "lines-INITIAL_FORMS": 0}
    wrong |= {"lines-0-description": "Rice", "lines-0-quantity": "many"}
    yield posted(client, "new invoice with errors", "/invoices/new", **wrong)
    yield got(client, "new customer", "/customers/new")
    yield got(client, "customer", f"/customers/{customer}")
    yield posted(client, "customer with errors", f"/customers/{customer}", email="a@@b")


def _many(client: Client, organization: Organization) -> Iterator[Rendered]:
    batch = organization.batches.get()
    drafts = list(Invoice.objects.filter(status="draft").values_list("pk", flat=True))
    yield posted(client, "send many", "/invoices/send", invoice=drafts)
    yield got(client, "batch", f"/batches/{batch.pk}")
    yield got(client, "import", "/invoices/import")
    yield posted(client, "import without a file", "/invoices/import")
    for name, lines in {
        "import to confirm": [row()],
        "import with problems": [row(amount="lots"), row(issued_on="someday")],
    }.items():
        file = io.BytesIO(file_of(*lines))
        file.name = "march.csv"
        yield got(client, name, client.post("/invoices/import", {"file": file}).headers["Location"])


def _settings(client: Client) -> Iterator[Rendered]:
    yield got(client, "settings", "/settings")
    yield posted(client, "settings with errors", "/settings", name="", email="no")
    yield got(client, "texts", "/settings/texts")
    words = {"kind": "invoice", "subject": "{number", "text": ""}
    yield posted(client, "texts with errors", "/settings/texts", **words)
    yield posted(client, "texts previewed", "/settings/preview", **words | {"subject": "Yours"})
    letter = got(client, "letter", "/settings/preview/invoice")
    # Its own policy forbids all scripts, axe's as well.
    yield replace(letter, headers={"Content-Type": "text/html; charset=utf-8"})
    yield got(client, "reminder settings", "/settings/reminders")
    yield got(client, "members", "/settings/members")
    yield posted(client, "members with errors", "/settings/invitations", email="no", role="x")
    yield got(client, "tokens", "/settings/tokens")
    yield posted(client, "new token", "/settings/tokens", name="Till")


def _outside(client: Client, organization: Organization) -> Iterator[Rendered]:
    """What is seen by who is not logged in, or gets lost."""
    owner = organization.members.get(role="owner")
    stranger = Client(headers={"Accept": "text/html"})
    yield got(stranger, "login", "/login")
    yield posted(stranger, "login refused", "/login", username="owner", password="wrong")
    issued = inviting.invite("kemi@people.example", "viewer", by=owner)
    stranger.get(f"/invitations/{issued.token}")
    yield got(stranger, "invitation", "/invitation")
    yield posted(stranger, "invitation with errors", "/invitation", password="short")
    yield got(Client(headers={"Accept": "text/html"}), "no invitation", "/invitation", status=404)
    yield got(client, "not found", "/no/such/page", status=404)
    viewer = browser_of(User.objects.get(username="viewer"))
    yield got(viewer, "forbidden", "/invoices/new", status=403)


# Support's pages ----------------------------------------------------------------------------------


def support_pages(organization: Organization) -> Iterator[Rendered]:
    admin = User.objects.create_superuser("admin", password="a password")
    client = browser_of(admin)
    deliveries = Delivery.objects.filter(organization=organization)
    dead = deliveries.filter(status="dead").earliest("pk")
    running = deliveries.get(status="running")
    message = factories.make_message(delivery=dead, idempotency_key=dead.idempotency_key)
    message.save()
    ledger.pause("email", for_=timedelta(hours=1), reason="Maintenance.")
    all_, letters = "/admin/deliveries/delivery", "/admin/deliveries/message"
    chosen = {"action": "replay", "_selected_action": [dead.pk]}
    yield got(client, "start page", "/admin/")
    yield got(client, "dead letters", "/admin/deliveries/deadletter/")
    yield got(client, "deliveries", f"{all_}/")
    yield got(client, "dead delivery", f"{all_}/{dead.pk}/change/")
    yield got(client, "running delivery", f"{all_}/{running.pk}/change/")
    yield posted(client, "replay many", "/admin/deliveries/deadletter/", **chosen)
    yield got(client, "replay one", f"{all_}/{dead.pk}/replay/")
    yield got(client, "trace", f"/admin/trace/?q={dead.reference}")
    yield got(client, "trace of nothing", "/admin/trace/?q=nothing-like-it")
    yield got(client, "lanes", "/admin/deliveries/lane/")
    yield got(client, "lane", "/admin/deliveries/lane/email/change/")
    yield got(client, "messages", f"{letters}/")
    yield got(client, "message", f"{letters}/{message.pk}/change/")
    yield got(client, "workers", "/admin/deliveries/workerpresence/")
    yield got(Client(headers={"Accept": "text/html"}), "admin login", "/admin/login/")
