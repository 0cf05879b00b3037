"""What owners set about their organization."""

import logging
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from invoices import editing
from invoices.models import Organization

logger = logging.getLogger(__name__)


def change(
    organization: Organization, values: Mapping[str, Any], *, seen: str, user_id: int
) -> list[str]:
    """Write what a form found valid, and return the names of what changed; one transaction.

    Raise `editing.ChangedMeanwhile`; see `editing.write`.
    """
    with transaction.atomic():
        locked = Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
        changed = editing.write(locked, values, seen=seen)
    if changed:
        logger.info(
            "organization changed",
            extra={"organization": organization.pk, "fields": changed, "user": user_id},
        )
    return changed
