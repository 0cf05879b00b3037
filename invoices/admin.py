"""Organizations, their people and customers, for support."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from invoices import corrections, money
from invoices.models import ApiToken, Customer, Invoice, InvoiceLine, Member, Organization


@admin.register(Organization)
class OrganizationAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["name", "slug", "email", "time_zone", "closed_at"]
    search_fields = ["name", "slug"]
    readonly_fields = ["created_at"]


@admin.register(Member)
class MemberAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["user", "organization", "role"]
    list_select_related = ["user", "organization"]
    autocomplete_fields = ["user", "organization"]
    readonly_fields = ["created_at"]


@admin.register(Customer)
class CustomerAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["name", "email", "organization", "removed_at"]
    list_select_related = ["organization"]
    search_fields = ["name", "email"]
    autocomplete_fields = ["organization"]
    readonly_fields = ["created_at"]

    def save_model(self, request: HttpRequest, obj: Customer, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change:
            corrections.customer_corrected(obj, form.changed_data, user_id=request.user.pk or 0)


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """To see and to revoke; `manage.py create_api_token` makes them."""

    list_display = ["name", "member", "created_at", "revoked_at"]
    list_select_related = ["member__user", "member__organization"]
    readonly_fields = ["name", "member", "created_at"]
    exclude = ["token_hash"]

    def has_add_permission(self, request: object) -> bool:
        return False


class InvoiceLineInline(admin.TabularInline):  # type: ignore[type-arg]
    model = InvoiceLine
    extra = 0


@admin.register(Invoice)
class InvoiceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """To look at, and to correct what cannot be sent: a draft, or one whose e-mail failed."""

    list_display = ["number", "organization", "customer", "status", "due_on"]
    list_filter = ["status"]
    list_select_related = ["organization", "customer"]
    search_fields = ["number"]
    show_full_result_count = False
    fields = [
        *("organization", "customer", "number", "status", "currency", "amount_minor"),
        *("issued_on", "due_on", "payment_terms", "notes", "failure_reason"),
    ]
    readonly_fields = ["organization", "customer", "number", "status", "failure_reason"]
    inlines = [InvoiceLineInline]

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
            form.instance.amount_minor = money.totals(lines).gross_minor or None
            form.instance.save(update_fields=["amount_minor"])
        if form.has_changed() or any(formset.has_changed() for formset in formsets):
            corrections.invoice_corrected(form.instance, user_id=request.user.pk or 0)
