"""Organizations, their people and customers, and the invoices they send."""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.search import SearchVector
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now, Upper

from invoices import money, validation


class Organization(models.Model):
    """A company that sends invoices. Organizations never see or delay each other."""

    name = models.CharField(max_length=240, validators=[validation.one_line])
    slug = models.SlugField(max_length=60, db_index=False)
    email = models.EmailField(help_text="Where customers' answers go.")
    address = models.TextField(blank=True, default="", validators=[validation.plain_text])
    tax_id = models.CharField(max_length=60, blank=True, default="")
    payment_details = models.TextField(blank=True, default="", validators=[validation.plain_text])
    language = models.CharField(max_length=20, default="en", validators=[validation.known_locale])
    time_zone = models.CharField(
        max_length=60, default="UTC", validators=[validation.known_time_zone]
    )
    reminders_enabled = models.BooleanField(
        default=True, help_text="Remind customers of overdue invoices, Monday to Friday."
    )
    reminders_after_days = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(365)],
        help_text="How many days an invoice must be overdue before its first reminder.",
    )
    reminder_limit = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="At most so many reminders for one invoice; empty for no limit.",
    )
    closed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint("slug", name="organization_slug"),
            models.CheckConstraint(
                name="organization_reminders_after_days_positive",
                condition=Q(reminders_after_days__gte=1),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Member(models.Model):
    """A user's place in an organization."""

    class Role(models.TextChoices):
        OWNER = "owner", "Owner"
        MEMBER = "member", "Member"
        VIEWER = "viewer", "Viewer"

    organization = models.ForeignKey(
        Organization, on_delete=models.CASCADE, db_index=False, related_name="members"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=20, choices=Role, default=Role.MEMBER)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint("organization", "user", name="member_once_per_organization"),
            models.CheckConstraint(
                name="member_role", condition=Q(role__in=["owner", "member", "viewer"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.organization} ({self.role})"

    @property
    def may_send(self) -> bool:
        return self.role in {self.Role.OWNER, self.Role.MEMBER}

    @property
    def may_configure(self) -> bool:
        return self.role == self.Role.OWNER


class ApiToken(models.Model):
    """A bearer token that acts as one member. Only its hash is kept."""

    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    token_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now())
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint("token_hash", name="api_token_hash")]

    def __str__(self) -> str:
        return self.name


class Customer(models.Model):
    """Whom an organization invoices. A removed customer is kept for the invoices' sake."""

    organization = models.ForeignKey(
        Organization, on_delete=models.PROTECT, related_name="customers"
    )
    name = models.CharField(max_length=240, blank=True, validators=[validation.one_line])
    # Not an EmailField: imports bring what people really have, and the page shows the problem.
    email = models.CharField(max_length=320, blank=True, validators=[validation.one_line])
    address = models.TextField(blank=True, default="", validators=[validation.plain_text])
    tax_id = models.CharField(max_length=60, blank=True, default="")
    language = models.CharField(
        max_length=20, blank=True, default="", validators=[validation.known_locale]
    )
    reminders_paused = models.BooleanField(default=False)
    removed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            # Search and import: a customer by address, whatever the case.
            models.Index("organization", Lower("email"), name="customer_by_email"),
            # Support's search over all organizations: by the beginning of the address, and by
            # words of the name.
            models.Index(
                OpClass(Lower("email"), name="text_pattern_ops"), name="customer_by_email_start"
            ),
            GinIndex(SearchVector("name", config="simple"), name="customer_by_words_of_name"),
        ]

    def __str__(self) -> str:
        return self.name or self.email


class InvoiceQuerySet(models.QuerySet["Invoice"]):
    def of(self, organization: Organization) -> InvoiceQuerySet:
        return self.filter(organization=organization)


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
    issued_on = models.DateField()
    due_on = models.DateField()
    payment_terms = models.CharField(
        max_length=500, blank=True, default="", validators=[validation.one_line]
    )
    notes = models.TextField(blank=True, default="", validators=[validation.plain_text])
    failure_reason = models.TextField(blank=True, default="")
    reminders_paused = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())
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
            # enqueue_reminders: what is unpaid and due, oldest first, page by page.
            models.Index("due_on", "id", name="invoice_overdue", condition=Q(status="sent")),
            # Support's search over all organizations: by the number's beginning, whatever the case.
            models.Index(
                OpClass(Upper("number"), name="text_pattern_ops"), name="invoice_by_number_start"
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

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint("invoice", "position", name="line_position_once_per_invoice"),
            models.CheckConstraint(name="line_quantity_positive", condition=Q(quantity__gt=0)),
            models.CheckConstraint(
                name="line_tax_rate_sane", condition=Q(tax_rate__gte=0, tax_rate__lte=100)
            ),
        ]

    def __str__(self) -> str:
        return self.description

    @property
    def net_minor(self) -> int:
        return money.net_minor(self.quantity, self.unit_price_minor)
