"""Sample organizations, people and invoices, to see the product with. Safe to make twice."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import islice

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils import timezone

from invoices import money
from invoices.models import Customer, Invoice, InvoiceLine, Member, Organization

BATCH = 2_000


@dataclass(frozen=True, kw_only=True)
class _Login:
    username: str
    organization: str = ""
    role: str = ""
    staff: bool = False
    # A group of the admin, made by migration.
    group: str = ""
    superuser: bool = False


LOGINS = (
    _Login(username="finance", organization="mainland-supplies", role=Member.Role.OWNER),
    _Login(username="viewer", organization="mainland-supplies", role=Member.Role.VIEWER),
    _Login(username="outsider", organization="nordlicht", role=Member.Role.OWNER),
    _Login(username="support", staff=True, group="Support"),
    _Login(username="operations", staff=True, group="Operations"),
    _Login(username="auditor", staff=True, group="Auditor"),
    _Login(username="admin", staff=True, superuser=True),
)

LAGOS = {
    "name": "Mainland Supplies Ltd",
    "email": "billing@mainland-supplies.example",
    "address": "14 Broad Street\nLagos Island\nLagos 101001\nNigeria",
    "tax_id": "NG-20419876-0001",
    "payment_details": "Lagoon Bank, account 0123456789\nReference: the invoice number",
    "language": "en-NG",
    "time_zone": "Africa/Lagos",
}
KIEL = {
    "name": "Nordlicht Kaffee GmbH",
    "email": "rechnung@nordlicht.example",
    "address": "Hafenstraße 7\n24103 Kiel\nGermany",
    "tax_id": "DE811907980",
    "payment_details": "IBAN DE02 1203 0000 0000 2020 51",
    "language": "en-DE",
    "time_zone": "Europe/Berlin",
}

ABUJA = {
    "name": "Harmattan Solar Ltd",
    "email": "accounts@harmattan-solar.example",
    "address": "3 Gana Street\nMaitama\nAbuja",
    "language": "en-NG",
    "time_zone": "Africa/Lagos",
}

# customer, address: what the sandbox then tells, the part before the @ decides
_RETURNING = (
    ("Bodija Market", "bounce@bodija.example"),
    ("Tarkwa Beach Club", "complain@tarkwabeach.example"),
    ("Oshodi Spares", "delayed@oshodi.example"),
)

# customer, address, days overdue
_LATE = (
    ("Zuma Hotel", "accounts@zumahotel.example", 3),
    ("Garki Clinic", "bills@garkiclinic.example", 10),
    ("Jabi Mall", "payables@jabimall.example", 24),
)

_TERMS = timedelta(days=14)

_ABROAD = {
    "Công ty Phở Việt": "12 Phố Huế\nHà Nội\nViệt Nam",
    "Кофейня Север": "Невский проспект, 12\nСанкт-Петербург",
    "Ελιά Imports": "Ερμού 12\n105 63 Αθήνα\nGreece",
    "مطعم الياسمين": "12 شارع الحمراء\nبيروت",
    "青山茶業": "東京都港区北青山3-12\nJapan",
    "Café Förde": "Hafenstraße 12\n24103 Kiel",
    **dict.fromkeys(("Zuma Hotel", "Garki Clinic", "Jabi Mall"), "12 Market Road\nAbuja"),
}

# customer, address, description, quantity, unit price in kobo, tax in per cent
_GOOD = (
    ("Ọ̀ṣun Textiles", "accounts@osuntextiles.example", "Adire cloth, indigo", 40, 520_000, "7.5"),
    ("Kúnlé & Ṣadé Studio", "hello@kunlesade.example", "Studio prints, A2", 12, 850_000, "7.5"),
    ("Công ty Phở Việt", "ketoan@phoviet.example", "Star anise, per kg", 25, 1_200_000, "0"),
    ("Кофейня Север", "office@sever.example", "Roasted coffee, 1 kg bags", 60, 940_000, "0"),
    ("Ελιά Imports", "logistirio@elia.example", "Olive oil, 5 l tins", 30, 1_450_000, "7.5"),
    ("مطعم الياسمين", "billing@yasmin.example", "Saffron, per gram", 50, 310_000, "0"),
    ("青山茶業", "keiri@aoyama.example", "Sencha, per kg", 18, 2_100_000, "0"),
    ("Harbour Logistics", "ap@harbour.example", "Container handling, hours", 7, 2_500_000, "7.5"),
    (
        "Ikeja City Hospital",
        "payables@icityhospital.example",
        "Linen hire, month",
        1,
        38_500_000,
        "0",
    ),
    ("Yaba Tech Hub", "finance@yabatech.example", "Desk rental, month", 9, 4_500_000, "7.5"),
)


def known_logins() -> list[str]:
    """Return which of the samples' user names are taken, by whomever."""
    names = [login.username for login in LOGINS]
    taken = User.objects.filter(username__in=names).order_by("username")
    return list(taken.values_list("username", flat=True))


def seed(
    *, password: str, extra_invoices: int = 0, today: date, keep: Collection[str] = ()
) -> list[_Login]:
    """Make what is missing of the samples; one transaction. Return the logins.

    Whoever is named in `keep` is left as it is, password and roles.
    """
    with transaction.atomic():
        lagos, _ = Organization.objects.get_or_create(slug="mainland-supplies", defaults=LAGOS)
        kiel, _ = Organization.objects.get_or_create(slug="nordlicht", defaults=KIEL)
        for login in LOGINS:
            if login.username not in keep:
                _user(login, password)
        _story(lagos, today)
        for number, (customer, email, text, quantity, price, tax) in enumerate(_GOOD, start=5):
            invoice = _invoice(lagos, number, customer, email, today=today)
            _lines(invoice, [(text, Decimal(quantity), price, Decimal(tax))])
        _returning(lagos, today)
        _overdue(_solar(), today)
        abroad = _invoice(
            kiel, 1, "Café Förde", "buchhaltung@cafefoerde.example", today=today, currency="EUR"
        )
        _lines(abroad, [("House blend, 1 kg", Decimal(20), 1890, Decimal(7))])
        _more(lagos, extra_invoices, today)
    return list(LOGINS)


def _story(organization: Organization, today: date) -> None:
    """The four invoices that show what can happen: two good ones, a bad address, no amount."""
    mama_put = _invoice(
        organization, 1, "Mama Put Kitchen", "accounts@mamaput.example", today=today
    )
    _lines(mama_put, [("Rice, 50 kg bags", Decimal(1), 4_500_000, Decimal(0))])
    grace = _invoice(organization, 2, "Grace Hotel", "finance@gracehotel.example", today=today)
    _lines(grace, [("Table linen, hire for a week", Decimal(6), 200_000, Decimal(0))])
    refused = _invoice(organization, 3, "Palm Wine Bar", "orders@@palmwine.example", today=today)
    _lines(refused, [("Glasses, crate", Decimal(4), 750_000, Decimal("7.5"))])
    _invoice(organization, 4, "Lekki Bakery", "books@lekkibakery.example", today=today)


def _returning(organization: Organization, today: date) -> None:
    """Invoices whose e-mails the sandbox accepts, and reports on later."""
    for number, (name, email) in enumerate(_RETURNING, start=15):
        invoice = _invoice(organization, number, name, email, today=today)
        _lines(invoice, [("Cool boxes, 60 l", Decimal(8), 450_000, Decimal("7.5"))])


def _user(login: _Login, password: str) -> None:
    user, created = User.objects.get_or_create(
        username=login.username,
        defaults={
            "email": f"{login.username}@invoicehub.example",
            "is_staff": login.staff,
            "is_superuser": login.superuser,
        },
    )
    if created or not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    user.groups.set(Group.objects.filter(name=login.group))
    if login.organization:
        Member.objects.get_or_create(
            user=user,
            organization=Organization.objects.get(slug=login.organization),
            defaults={"role": login.role},
        )


def _invoice(
    organization: Organization,
    number: int,
    customer_name: str,
    email: str,
    *,
    today: date,
    currency: str = "NGN",
) -> Invoice:
    address = _ABROAD.get(customer_name, "12 Market Road\nLagos")
    customer = _customer(organization, customer_name, email, address)
    invoice, _ = Invoice.objects.get_or_create(
        organization=organization,
        number=f"INV-{number:04}",
        defaults={
            "customer": customer,
            "currency": currency,
            "issued_on": today,
            "due_on": today + _TERMS,
            "payment_terms": "Payable within 14 days, without deduction.",
        },
    )
    return invoice


def _customer(organization: Organization, name: str, email: str, address: str) -> Customer:
    # Two customers may share a name; any of them will do.
    found = Customer.objects.filter(organization=organization, name=name).order_by("pk").first()
    return found or Customer.objects.create(
        organization=organization, name=name, email=email, address=address
    )


def _lines(invoice: Invoice, lines: list[tuple[str, Decimal, int, Decimal]]) -> None:
    """Give a new invoice its lines and its amount; leave one alone that has them."""
    if invoice.amount_minor is not None:
        return
    made = [
        InvoiceLine(
            invoice=invoice,
            position=position,
            description=description,
            quantity=quantity,
            unit_price_minor=price,
            tax_rate=rate,
        )
        for position, (description, quantity, price, rate) in enumerate(lines, start=1)
    ]
    InvoiceLine.objects.bulk_create(made)
    invoice.amount_minor = money.totals(made).gross_minor
    invoice.save(update_fields=["amount_minor"])


def _solar() -> Organization:
    """A second organization of the finance user's, so that switching can be seen."""
    solar, _ = Organization.objects.get_or_create(slug="harmattan-solar", defaults=ABUJA)
    Member.objects.get_or_create(
        user=User.objects.get(username="finance"),
        organization=solar,
        defaults={"role": Member.Role.OWNER},
    )
    return solar


def _overdue(organization: Organization, today: date) -> None:
    """Invoices sent elsewhere weeks ago and not paid: what reminders are for."""
    for number, (name, email, days) in enumerate(_LATE, start=1):
        issued_on = today - timedelta(days=days) - _TERMS
        invoice = _invoice(organization, number, name, email, today=issued_on)
        _lines(invoice, [("Panel cleaning, visit", Decimal(2), 3_500_000, Decimal("7.5"))])
        Invoice.objects.filter(pk=invoice.pk, status=Invoice.Status.DRAFT).update(
            status=Invoice.Status.SENT,
            sent_at=timezone.now() - (today - issued_on),
            # From elsewhere, so that nobody misses an e-mail of ours.
            imported_at=timezone.now(),
        )


def _more(organization: Organization, count: int, today: date) -> None:
    """Make further invoices in bulk, numbered from DEMO-000001; those that exist stay."""
    if not count:
        return
    customer = _customer(organization, "Eko Markets", "invoices@ekomarkets.example", "1 Marina")
    wanted = (
        Invoice(
            organization=organization,
            customer=customer,
            number=f"DEMO-{number:06}",
            currency="NGN",
            amount_minor=100_000 + number,
            issued_on=today - timedelta(days=1),
            due_on=today + timedelta(days=13),
        )
        for number in range(1, count + 1)
    )
    while batch := list(islice(wanted, BATCH)):
        Invoice.objects.bulk_create(batch, ignore_conflicts=True)
