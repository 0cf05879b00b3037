"""The message exactly as it was handed over, to look at without being able to run its script."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from deliveries.admin.readonly import ReadOnlyAdmin
from deliveries.models import Message


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ["subject", "to", "delivery", "created_at"]
    list_select_related = ["delivery"]
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        return super().get_queryset(request).defer("attachments")
