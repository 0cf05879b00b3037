"""Organizations, their people and customers, for support."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.validators import validate_email
from django.db.models import ForeignKey, Max, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from deliveries.models import Delivery
from invoices import corrections, money
from invoices.models import ApiToken, Customer, Invoice, InvoiceLine, Member, Organization


@admin.register(Organization)
class OrganizationAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["name", "slug", "email", "time_zone", "closed_at"]
    search_fields = ["name", "slug"]
    ordering = ["name", "pk"]
    readonly_fields = ["created_at"]


class NumbersOnly(AutocompleteSelect):
    """Draws a form again though somebody sent what is no id; Django's own looks it up."""

    def optgroups(self, name: str, value: Sequence[str], attrs: Any = None) -> Any:
        return super().optgroups(name, [each for each in value if each.isdecimal()], attrs)


class ChoosingAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Lets people search for a row that another one belongs to."""

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any], request: HttpRequest, **options: Any
    ) -> Any:
        if db_field.name in self.autocomplete_fields:
            options["widget"] = NumbersOnly(db_field, self.admin_site)
        return super().formfield_for_foreignkey(db_field, request, **options)


@admin.register(Member)
class MemberAdmin(ChoosingAdmin):
    list_display = ["user", "organization", "role"]
    list_select_related = ["user", "organization"]
    autocomplete_fields = ["user", "organization"]
    readonly_fields = ["created_at"]


# What a bigint holds, with room for sums of many.
MOST_MINOR = 10**15


class CarefulAdmin(ChoosingAdmin):
    """Writes what was entered and nothing else, over rows that others write at the same time."""

    show_full_result_count = False
    # Django's own would let an address filter by any column, with a scan of the whole table.
    allowed_lookups: tuple[str, ...] = ()

    def lookup_allowed(self, lookup: str, value: object, request: HttpRequest) -> bool:
        return lookup in self.allowed_lookups

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        """Lock the row before it is read for a change, as a click on Send does."""
        found = super().get_object(request, object_id, from_field)
        if found is None or request.method != "POST":
            return found
        locked = self.model._default_manager.select_for_update(no_key=True)
        return locked.filter(pk=found.pk).first()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        columns = {field.name for field in obj._meta.concrete_fields}
        if change:
            obj.save(update_fields=columns.intersection(form.changed_data))
        else:
            obj.save()


class CustomerForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean_email(self) -> str:
        """Refuse what finance is warned of; what was imported so may stay as it is."""
        address: str = self.cleaned_data["email"]
        if "email" in self.changed_data and address:
            validate_email(address)
        return address


@admin.register(Customer)
class CustomerAdmin(CarefulAdmin):
    list_display = ["name", "email", "organization", "removed_at"]
    list_select_related = ["organization"]
    form = CustomerForm
    search_fields = ["name", "email"]
    autocomplete_fields = ["organization"]
    ordering = ["-pk"]

    def get_readonly_fields(self, request: HttpRequest, obj: Customer | None = None) -> list[str]:
        """Whose customer it is, and whether it was removed, is the organization's business."""
        fixed = ["reminders_paused", "removed_at", "created_at"]
        return ["organization", *fixed] if obj else fixed

    def save_model(self, request: HttpRequest, obj: Customer, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and form.changed_data:
            corrections.customer_corrected(obj, form.changed_data, user_id=request.user.pk or 0)
            _lead_on(request, Q(invoice__customer=obj))


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """To see and to revoke; `manage.py create_api_token` makes them."""

    list_display = ["name", "member", "created_at", "revoked_at"]
    list_select_related = ["member__user", "member__organization"]
    readonly_fields = ["name", "member", "created_at"]
    exclude = ["token_hash"]

    def has_add_permission(self, request: object) -> bool:
        return False


class InvoiceLineForm(forms.ModelForm):  # type: ignore[type-arg]
    """A line with its price as people write it, 45000.00, not in minor units."""

    unit_price = forms.DecimalField(
        max_digits=15, help_text="In the invoice's currency: 45000.00, not 4500000."
    )

    class Meta:
        model = InvoiceLine
        fields = ["description", "quantity", "unit_price", "tax_rate", "second_tax_rate"]

    def __init__(self, *args: Any, currency: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._places = money.minor_unit_exponent(currency)
        self.fields["second_tax_rate"].required = False
        if self.instance.pk:
            price = Decimal(self.instance.unit_price_minor).scaleb(-self._places)
            self.initial["unit_price"] = price

    def clean_second_tax_rate(self) -> Decimal:
        return self.cleaned_data["second_tax_rate"] or Decimal(0)

    def clean_unit_price(self) -> Decimal:
        price: Decimal = self.cleaned_data["unit_price"]
        minor = price.scaleb(self._places)
        if abs(minor) >= MOST_MINOR:
            raise forms.ValidationError("That is more than an invoice can hold.")
        if minor != int(minor):
            raise forms.ValidationError(f"This currency has {self._places} decimal places.")
        self.instance.unit_price_minor = int(minor)
        return price


class InvoiceLineFormSet(forms.BaseInlineFormSet):  # type: ignore[type-arg]
    def clean(self) -> None:
        """Refuse what adds up to nothing, or to more than a column holds."""
        kept = [form for form in self.forms if form.has_changed() or form.instance.pk]
        lines = [form.instance for form in kept if not form.cleaned_data.get("DELETE")]
        if any(self.errors) or not lines:
            return
        gross = money.totals(lines).gross_minor
        if not 0 < gross < MOST_MINOR:
            raise forms.ValidationError(
                "The lines must add up to more than nothing, and to less than "
                f"{MOST_MINOR:,} in the smallest unit; they come to {gross:,}."
            )

    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        return {**super().get_form_kwargs(index), "currency": self.instance.currency}

    def save_new(self, form: Any, commit: bool = True) -> Any:
        """Put a new line behind the others."""
        last = self.instance.lines.aggregate(last=Max("position"))["last"] or 0
        form.instance.position = last + 1
        return super().save_new(form, commit)


class InvoiceLineInline(admin.TabularInline):  # type: ignore[type-arg]
    model = InvoiceLine
    form = InvoiceLineForm
    formset = InvoiceLineFormSet
    extra = 0


@admin.register(Invoice)
class InvoiceAdmin(CarefulAdmin):
    """To look at, and to correct what cannot be sent: a draft, or one whose e-mail failed."""

    list_display = ["number", "organization", "customer", "status", "due_on"]
    list_filter = ["status"]
    allowed_lookups = ("status__exact",)
    list_select_related = ["organization", "customer"]
    search_fields = ["number"]
    ordering = ["-pk"]
    fields = [
        *("organization", "customer", "number", "status", "failure_reason", "amount"),
        *("discount_rate", "to", "cc", "issued_on", "due_on", "payment_terms", "notes"),
    ]
    readonly_fields = [
        *("organization", "customer", "number", "status", "failure_reason", "amount"),
        *("discount_rate", "to", "cc"),
    ]
    inlines = [InvoiceLineInline]

    @admin.display(description="amount, by its lines")
    def amount(self, invoice: Invoice) -> str:
        if invoice.amount_minor is None:
            return "none yet"
        return money.format_amount(invoice.amount_minor, invoice.currency, "en")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Invoice | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Invoice | None = None) -> bool:
        return (obj is None or obj.is_correctable) and super().has_change_permission(request, obj)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """The lines decide the amount, where there are any."""
        super().save_related(request, form, formsets, change)
        lines = list(form.instance.lines.all())
        if lines:
            totals = money.totals(lines, discount_rate=form.instance.discount_rate)
            form.instance.amount_minor = totals.gross_minor or None
            form.instance.save(update_fields=["amount_minor"])
        changed = [_in_words(name) for name in form.changed_data]
        if any(formset.has_changed() for formset in formsets):
            changed.append("lines")
        if changed:
            corrections.invoice_corrected(
                form.instance, changed=changed, user_id=request.user.pk or 0
            )
            _lead_on(request, Q(invoice=form.instance))


def _in_words(field: str) -> str:
    return {"issued_on": "date of issue", "due_on": "due date"}.get(field, field.replace("_", " "))


def _lead_on(request: HttpRequest, about: Q) -> None:
    """After a correction, say which dead letters can be replayed now."""
    for delivery in Delivery.objects.dead().filter(about).order_by("-id")[:5]:
        address = reverse("admin:deliveries_delivery_change", args=[delivery.pk])
        text = 'Its e-mail is a dead letter: <a href="{}">replay {} {}</a>.'
        told = format_html(text, address, delivery.kind, delivery.reference)
        messages.info(request, told)
