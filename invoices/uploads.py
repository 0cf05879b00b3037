"""Files that people upload to import: kept from the check to the import, for a day at most."""

import hashlib
import logging

from django.contrib.postgres.functions import TransactionNow
from django.db import transaction

from invoices import importing
from invoices.models import Member, Organization, Upload

logger = logging.getLogger(__name__)

LIMIT_BYTES = 10 * 1024 * 1024


def keep(content: bytes, *, name: str, member: Member, options: importing.Options) -> Upload:
    """Keep a file for its check and its import; throw away what nobody confirmed in a day."""
    Upload.objects.expired().delete()
    printable = "".join(character for character in name if character.isprintable())
    return Upload.objects.create(
        organization=member.organization,
        user=member.user,
        name=printable[:200] or "invoices.csv",
        sha256=hashlib.sha256(content).hexdigest(),
        content=content,
        dates=options.dates or "",
        decimal=options.decimal or "",
        skip_existing=options.skip_existing,
    )


def say(upload: Upload, options: importing.Options) -> None:
    """Change how a kept file is to be read."""
    Upload.objects.filter(pk=upload.pk, imported_at__isnull=True).update(
        dates=options.dates or "",
        decimal=options.decimal or "",
        skip_existing=options.skip_existing,
    )


def check(upload: Upload) -> importing.Report:
    """Say what importing the file would do. Raises importing.Unreadable."""
    # One transaction, so that the temporary tables also work behind a pool of connections.
    with transaction.atomic():
        return importing.check(_source(upload), upload.organization, options_of(upload))


class NotAsShown(Exception):
    """What would be imported by now is not what the person was shown; nothing is."""


def seal_of(upload: Upload, report: importing.Report) -> str:
    """Name what a page shows of a file: how it is read, and what it comes to."""
    shown = (upload.sha256, options_of(upload), report.summary)
    return hashlib.blake2b(repr(shown).encode(), digest_size=16).hexdigest()


def confirm(
    upload_id: int, organization: Organization, *, seal: str
) -> tuple[Upload, importing.Report | None]:
    """Import what was checked, once; one transaction, with the file's removal.

    `seal` names what the person was shown (see `seal_of`). Raise `NotAsShown`.

    The upload's `imported_at` is then that of its invoices. Return no report where an earlier
    click was first: the upload says what that one imported. Raises Upload.DoesNotExist,
    importing.Unreadable.
    """
    with transaction.atomic():
        upload = (
            Upload.objects.alive()
            .select_for_update(no_key=True, of=("self",))
            .select_related("organization")
            .get(pk=upload_id, organization=organization)
        )
        if upload.imported_at is not None:
            return upload, None
        report = importing.import_file(_source(upload), upload.organization, options_of(upload))
        if report.imported and seal_of(upload, report) != seal:
            raise NotAsShown
        if report.imported:
            upload.imported = report.summary.invoices
            Upload.objects.filter(pk=upload.pk).update(
                content=b"", imported_at=TransactionNow(), imported=upload.imported
            )
            upload.refresh_from_db(fields=["imported_at"])
    logger.info("upload confirmed", extra={"upload": upload.pk, "imported": report.imported})
    return upload, report


def options_of(upload: Upload) -> importing.Options:
    return importing.Options(
        dates=upload.dates or None,  # type: ignore[arg-type]
        decimal=upload.decimal or None,  # type: ignore[arg-type]
        skip_existing=upload.skip_existing,
    )


def _source(upload: Upload) -> importing.Source:
    return importing.Source(content=bytes(upload.content))
