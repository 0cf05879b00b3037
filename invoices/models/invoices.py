"""Invoices and their lines."""

from __future__ import annotations

from decimal import Decimal

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now, Reverse, Upper

from invoices import money, validation
from invoices.models.customers import Customer
from invoices.models.organizations import Organization


class InvoiceQuerySet(models.QuerySet["Invoice"]):
    def of(self, organization: Organization) -> InvoiceQuerySet:
        return self.filter(organization=organization)

    def entered(self) -> InvoiceQuerySet:
        """Return those that a person wrote here, not a file from elsewhere."""
        return self.filter(imported_at__isnull=True)


class Invoice(models.Model):
    """One invoice. Once it has left draft it does not change, unless its e-mail failed."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        SENDING = "sending", "Sending"
        SENT = "sent", "Sent"
        FAILED = "failed", "Not sent"
        PAID = "paid", "Paid"
        VOID = "void", "Void"

    organization = models.ForeignKey(
        Organization, on_delete=models.PROTECT, db_index=False, related_name="invoices"
    )
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="invoices")
    number = models.CharField(max_length=100, validators=[validation.one_line])
    status = models.CharField(max_length=20, choices=Status, default=Status.DRAFT)
    currency = models.CharField(max_length=3, validators=[validation.known_currency])
    amount_minor = models.BigIntegerField(
        null=True,
        blank=True,
        help_text="What the customer owes, tax included, in the currency's smallest unit.",
    )
    discount_rate = models.DecimalField(
        max_digits=7,
        decimal_places=4,
        default=Decimal(0),
        db_default=Decimal(0),
        help_text="In per cent, on all lines: 2.5 means 2.5 %.",
    )
    to = ArrayField(
        models.CharField(max_length=320),
        default=list,
        db_default=[],
        blank=True,
        help_text="Who gets the e-mail; empty for the customer's own address.",
    )
    cc = ArrayField(
        models.CharField(max_length=320),
        default=list,
        db_default=[],
        blank=True,
        help_text="Who gets a copy.",
    )
    issued_on = models.DateField()
    due_on = models.DateField()
    payment_terms = models.CharField(
        max_length=500, blank=True, default="", validators=[validation.one_line]
    )
    notes = models.TextField(blank=True, default="", validators=[validation.plain_text])
    failure_reason = models.TextField(blank=True, default="")
    reminders_paused = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())
    imported_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When the import that made it began; one moment for all of a file.",
    )
    sent_at = models.DateTimeField(null=True, blank=True)
    paid_at = models.DateTimeField(null=True, blank=True)
    voided_at = models.DateTimeField(null=True, blank=True)

    objects = InvoiceQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "organization", "number", name="invoice_number_once_per_organization"
            ),
            models.CheckConstraint(
                name="invoice_status",
                condition=Q(status__in=["draft", "sending", "sent", "failed", "paid", "void"]),
            ),
            models.CheckConstraint(
                name="invoice_amount_positive",
                condition=Q(amount_minor__isnull=True) | Q(amount_minor__gt=0),
            ),
            # A discount of more than everything would owe the customer money.
            models.CheckConstraint(
                name="invoice_discount_sane",
                condition=Q(discount_rate__gte=0, discount_rate__lte=100),
            ),
            models.CheckConstraint(
                name="invoice_failed_has_reason",
                condition=~Q(status="failed") | ~Q(failure_reason=""),
            ),
        ]
        indexes = [
            # The invoice list: one organization's invoices, newest first.
            models.Index(
                "organization", F("issued_on").desc(), F("id").desc(), name="invoice_list"
            ),
            # The same list in its other orders; by number it is read off the unique constraint.
            models.Index(F("organization"), F("due_on"), F("id"), name="invoice_list_by_due"),
            models.Index(
                F("organization"),
                F("currency"),
                Coalesce("amount_minor", 0),
                F("id"),
                name="invoice_list_by_amount",
            ),
            # The list's tabs, each a status, in each order. The due day stands in all of them, so
            # that who is not overdue is passed over without reading the row.
            models.Index(
                F("organization"),
                F("status"),
                F("issued_on").desc(),
                F("id").desc(),
                F("due_on"),
                name="invoice_tab",
            ),
            models.Index(
                F("organization"), F("status"), F("due_on"), F("id"), name="invoice_tab_by_due"
            ),
            models.Index(
                F("organization"),
                F("status"),
                F("currency"),
                Coalesce("amount_minor", 0),
                F("id"),
                F("due_on"),
                name="invoice_tab_by_amount",
            ),
            models.Index(
                F("organization"),
                F("status"),
                F("number"),
                F("due_on"),
                name="invoice_tab_by_number",
            ),
            # The list of what one file became; most invoices are of none.
            models.Index(
                "organization",
                "imported_at",
                name="invoice_imported",
                condition=Q(imported_at__isnull=False),
            ),
            # enqueue_reminders: what is unpaid and due, oldest first, page by page.
            models.Index("due_on", "id", name="invoice_overdue", condition=Q(status="sent")),
            # Support's search over all organizations: by the number's beginning, whatever the case.
            models.Index(
                OpClass(Upper("number"), name="text_pattern_ops"), name="invoice_by_number_start"
            ),
            # The same by the number's end: people say "seventeen" of INV-0017.
            models.Index(
                OpClass(Reverse(Upper("number")), name="text_pattern_ops"),
                name="invoice_by_number_end",
            ),
        ]

    def __str__(self) -> str:
        return self.number

    @property
    def is_correctable(self) -> bool:
        """Whether it may change at all: nobody has it yet, as far as we know."""
        return self.status in {self.Status.DRAFT, self.Status.FAILED}


class InvoiceLine(models.Model):
    """One line of an invoice. Money is in minor units; see invoices.money for the rounding."""

    invoice = models.ForeignKey(Invoice, on_delete=models.CASCADE, related_name="lines")
    position = models.PositiveIntegerField()
    description = models.CharField(max_length=1000, validators=[validation.one_line])
    quantity = models.DecimalField(max_digits=16, decimal_places=6, default=Decimal(1))
    unit_price_minor = models.BigIntegerField()
    tax_rate = models.DecimalField(
        max_digits=7,
        decimal_places=4,
        default=Decimal(0),
        help_text="In per cent: 7.5 means 7.5 %.",
    )
    second_tax_rate = models.DecimalField(
        max_digits=7,
        decimal_places=4,
        default=Decimal(0),
        db_default=Decimal(0),
        help_text="Of a second tax on the same line, as in Québec; 0 for none.",
    )

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint("invoice", "position", name="line_position_once_per_invoice"),
            models.CheckConstraint(name="line_quantity_positive", condition=Q(quantity__gt=0)),
            models.CheckConstraint(
                name="line_tax_rate_sane", condition=Q(tax_rate__gte=0, tax_rate__lte=100)
            ),
            models.CheckConstraint(
                name="line_second_tax_rate_sane",
                condition=Q(second_tax_rate__gte=0, second_tax_rate__lte=100),
            ),
            # Totals stand by rate: of two taxes with one rate, only one would be charged.
            models.CheckConstraint(
                name="line_second_tax_beside_another",
                condition=Q(second_tax_rate=0)
                | (Q(tax_rate__gt=0) & ~Q(second_tax_rate=F("tax_rate"))),
            ),
        ]

    def __str__(self) -> str:
        return self.description

    @property
    def net_minor(self) -> int:
        return money.net_minor(self.quantity, self.unit_price_minor)
