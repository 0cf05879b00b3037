"""The logo: what may be uploaded, what is kept of it, and that it never stops an invoice."""

import io
import struct
import zlib
from dataclasses import replace
from typing import Any

import pypdf
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from deliveries import kinds
from invoices.document import document_of
from invoices.models import Invoice, Logo, Organization
from invoices.pdf import render
from tests import factories
from tests.invoices.pdf.documents import LAGOS
from tests.reading import text

pytestmark = pytest.mark.thorough


def picture(size: tuple[int, int] = (300, 80), kind: str = "PNG", mode: str = "RGB") -> bytes:
    target = io.BytesIO()
    Image.new(mode, size, 200 if mode in {"L", "1", "I;16"} else None).save(target, format=kind)
    return target.getvalue()


def claiming(width: int, height: int) -> bytes:
    """Return a small PNG whose header claims this size, which is all that a bomb is made of."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    checksum = struct.pack(">I", zlib.crc32(header))
    whole = picture(mode="1")
    start = whole.index(b"IHDR")
    return whole[:start] + header + checksum + whole[start + len(header) + len(checksum) :]


def upload(client: Client, content: bytes, name: str = "logo.png") -> Any:
    file = SimpleUploadedFile(name, content, content_type="image/png")
    return client.post("/settings/logo", {"picture": file})


@pytest.mark.parametrize(
    ("kind", "mode", "content_type"),
    [
        ("PNG", "RGB", "image/png"),
        ("PNG", "RGBA", "image/png"),
        ("PNG", "LA", "image/png"),
        ("PNG", "P", "image/png"),
        ("PNG", "1", "image/png"),
        ("PNG", "I;16", "image/png"),
        ("JPEG", "RGB", "image/jpeg"),
        ("JPEG", "CMYK", "image/jpeg"),
    ],
)
def test_a_png_or_jpeg_is_kept_and_served(
    as_owner: Client, kind: str, mode: str, content_type: str
) -> None:
    assert upload(as_owner, picture(kind=kind, mode=mode), "nonsense.exe").status_code == 302
    answer = as_owner.get("/settings/logo")
    assert answer.headers["Content-Type"] == content_type
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert Image.open(io.BytesIO(answer.content)).size == (300, 80)


def test_it_is_made_as_small_as_it_is_printed(as_owner: Client) -> None:
    upload(as_owner, picture((2000, 1000)))
    logo = Logo.objects.get()
    assert (logo.width, logo.height) == (360, 180)


def test_nothing_but_the_pixels_is_kept(as_owner: Client) -> None:
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    target = io.BytesIO()
    Image.new("RGB", (50, 50)).save(target, format="JPEG", exif=exif, comment=b"a comment")
    upload(as_owner, target.getvalue() + b"<script>alert(1)</script>")
    kept = bytes(Logo.objects.get().content)
    for foreign in (b"taken at home", b"a comment", b"<script>"):
        assert foreign not in kept


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "neither a PNG nor a JPEG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "neither a PNG nor a JPEG"),
        (b"%PDF-1.7", "neither a PNG nor a JPEG"),
        (picture(kind="GIF"), "neither a PNG nor a JPEG"),
        (picture(kind="WEBP"), "neither a PNG nor a JPEG"),
        (picture((2001, 10)), "2001 × 10 pixels"),
        (claiming(30_000, 30_000), "far too many pixels"),
        (claiming(12_000, 9_000), "far too many pixels"),
        (picture()[:60], "The picture is damaged"),
        (picture() + b"\0" * 300_000, "at most 200 KB"),
    ],
    ids=["empty", "svg", "pdf", "gif", "webp", "wide", "bomb", "small bomb", "cut", "large"],
)
def test_everything_else_is_refused_with_a_sentence(
    as_owner: Client, content: bytes, sentence: str
) -> None:
    assert sentence in text(upload(as_owner, content))
    assert not Logo.objects.exists()


def test_an_upload_without_a_file_is_told_so(as_owner: Client) -> None:
    assert "Choose a file first." in text(as_owner.post("/settings/logo", {"picture": ""}))


def test_a_new_logo_takes_the_place_of_the_old_and_can_be_removed(as_owner: Client) -> None:
    for width in (100, 200):
        upload(as_owner, picture((width, 50)))
    assert Logo.objects.get().width == 200
    for _ in range(2):
        assert as_owner.post("/settings/logo/remove").status_code == 302
    assert as_owner.get("/settings/logo").status_code == 404


def test_only_owners_change_it_and_others_see_their_own(
    client: Client, viewer: User, outsider: User, owner: User
) -> None:
    client.force_login(owner)
    upload(client, picture())
    client.force_login(viewer)
    assert client.get("/settings/logo").status_code == 200
    assert upload(client, picture()).status_code == 403
    assert client.post("/settings/logo/remove").status_code == 403
    client.force_login(outsider)
    assert client.get("/settings/logo").status_code == 404
    assert client.put("/settings/logo").status_code == 405
    assert client.get("/settings/logo/remove").status_code == 405


# The PDF --------------------------------------------------------------------------------------


def test_it_stands_in_the_pdf_and_equal_documents_make_equal_bytes(
    as_owner: Client, invoice: Invoice
) -> None:
    upload(as_owner, picture())
    pdf = render(document_of(invoice))
    assert len(pypdf.PdfReader(io.BytesIO(pdf)).pages[0].images) == 1
    assert render(document_of(invoice)) == pdf


def test_another_organizations_invoices_do_not_have_it(as_owner: Client, invoice: Invoice) -> None:
    upload(as_owner, picture())
    elsewhere = factories.make_invoice(factories.make_organization("other"))
    assert document_of(elsewhere).logo is None


@pytest.mark.parametrize("content", [b"", b"nonsense", picture()[:60], b"\x89PNG\r\n\x1a\n"])
def test_a_broken_one_is_left_out(content: bytes) -> None:
    assert render(replace(LAGOS, logo=content)) == render(LAGOS)


def test_a_broken_one_does_not_stop_an_e_mail(organization: Organization, invoice: Invoice) -> None:
    Logo.objects.create(
        organization=organization,
        content=b"broken",
        content_type="image/png",
        width=1,
        height=1,
        digest="x",
    )
    message = kinds.get("invoice").compose(factories.make_delivery(invoice))
    assert message.attachments[0]["content_type"] == "application/pdf"


@pytest.mark.parametrize("size", [(2000, 1), (1, 2000), (1, 1), (180, 600)])
def test_odd_proportions_fit(size: tuple[int, int]) -> None:
    from invoices.branding import read_picture

    logo = read_picture(picture(size)).content
    pdf = render(replace(LAGOS, logo=logo))
    assert len(pypdf.PdfReader(io.BytesIO(pdf)).pages) == 1
