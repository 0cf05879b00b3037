"""Organizations, their people and customers, for support."""

from django.contrib import admin

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
    """To look at: an invoice is changed on its own page, where its rules hold."""

    list_display = ["number", "organization", "customer", "status", "due_on"]
    list_filter = ["status"]
    list_select_related = ["organization", "customer"]
    search_fields = ["number"]
    show_full_result_count = False
    inlines = [InvoiceLineInline]

    def has_add_permission(self, request: object) -> bool:
        return False

    def has_change_permission(self, request: object, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        return False
