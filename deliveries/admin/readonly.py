"""What every page of the ledger in the admin has in common."""

from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property

# Counting stops where the exact number no longer helps: a table may have ten million rows.
COUNTED_UP_TO = 10_000


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Pages over the first 10,000 rows; nobody leafs further, and filters find the rest."""

    @cached_property
    def count(self) -> int:
        return int(self.object_list[:COUNTED_UP_TO].count())  # type: ignore[attr-defined]


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Nothing here is added, edited or deleted by hand, by superusers neither."""

    show_full_result_count = False
    # Facets count the whole table for each choice.
    show_facets = admin.ShowFacets.NEVER
    list_max_show_all = 100
    list_per_page = 50
    paginator = CappedPaginator

    def lookup_allowed(self, lookup: str, value: object, request: HttpRequest) -> bool:
        """Allow the list's own filters.

        Django's rule would let an address filter by any column, with a scan of the whole table.
        """
        return lookup in {getattr(each, "parameter_name", each) for each in self.list_filter}

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Call the page by what it lists, not "Select … to view"."""
        title = str(self.opts.verbose_name_plural).capitalize()
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
