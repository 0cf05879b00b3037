"""An organization's logo: what may be uploaded, and how it is kept.

Nothing of an uploaded file is ever served or printed: its pixels are read and encoded anew, so
that what else it holds (scripts, a second format, places where a photo was taken) is gone.
"""

import hashlib
import io
import logging
import struct
import warnings
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from PIL import Image, ImageOps, UnidentifiedImageError

from invoices.models import Logo, Organization

logger = logging.getLogger(__name__)

MOST_BYTES = 200 * 1024
MOST_PIXELS = 2_000
# It is printed 60 by 18 mm at most: this is 250 dots per inch, and keeps every e-mail small.
_KEPT = (600, 180)
_JPEG = "JPEG"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture as we encoded it."""

    content: bytes
    content_type: str
    width: int
    height: int


def read_picture(content: bytes, *, size: int | None = None) -> Picture:
    """Read an uploaded PNG or JPEG, by what it is and not by its name, and encode it anew.

    Raise `ValidationError` for everything else, and for what is too large; no picture is unpacked
    before its size is known. `size` is that of the file, where not all of it was read.
    """
    size = max(size or 0, len(content))
    if size > MOST_BYTES:
        raise ValidationError(
            _("The file has %(size)d KB; a logo has at most 200 KB.") % {"size": -(-size // 1024)},
            code="bytes",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(content), formats=("PNG", _JPEG))
            _check_size(image)
            return _encoded(image)
    except UnidentifiedImageError:
        raise ValidationError(_("This is neither a PNG nor a JPEG picture."), code="type") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ValidationError(
            _("The picture has far too many pixels; a logo has at most 2000 × 2000."), code="pixels"
        ) from None
    except (OSError, ValueError, SyntaxError, EOFError, TypeError, KeyError, struct.error):
        # The last three come from EXIF data of a wrong type.
        raise ValidationError(
            _("The picture is damaged: save it once more as PNG or JPEG."), code="damaged"
        ) from None


def keep_logo(organization: Organization, picture: Picture, *, user_id: int) -> None:
    """Make a picture the organization's logo, in place of the one it had."""
    Logo.objects.update_or_create(
        organization=organization,
        defaults={
            "content": picture.content,
            "content_type": picture.content_type,
            "width": picture.width,
            "height": picture.height,
            "digest": hashlib.sha256(picture.content).hexdigest(),
            "uploaded_by_id": user_id,
        },
    )
    logger.info("logo changed", extra={"organization": organization.pk, "user": user_id})


def drop_logo(organization: Organization, *, user_id: int) -> bool:
    """Take the logo away; say whether there was one."""
    count, _of_table = Logo.objects.filter(organization=organization).delete()
    if count:
        logger.info("logo removed", extra={"organization": organization.pk, "user": user_id})
    return bool(count)


def logo_of(organization: Organization) -> bytes | None:
    """Return the picture that stands on the organization's invoices, if any; one query."""
    found = Logo.objects.filter(organization=organization).values_list("content", flat=True).first()
    return bytes(found) if found is not None else None


def _check_size(image: Image.Image) -> None:
    if max(image.size) > MOST_PIXELS:
        raise ValidationError(
            _("The picture has %(width)d × %(height)d pixels; a logo has at most 2000 × 2000.")
            % {"width": image.width, "height": image.height},
            code="pixels",
        )


def _encoded(image: Image.Image) -> Picture:
    file_format = _JPEG if image.format in {_JPEG, "MPO"} else "PNG"
    plain = _plain(ImageOps.exif_transpose(image))
    plain.thumbnail(_KEPT, Image.Resampling.LANCZOS)
    target = io.BytesIO()
    plain.save(target, format=file_format, optimize=True, quality=90)
    return Picture(
        content=target.getvalue(),
        content_type=str(Logo.Type[file_format]),
        width=plain.width,
        height=plain.height,
    )


def _plain(image: Image.Image) -> Image.Image:
    """Unpack the pixels as RGB, with transparency where there is some, and nothing else."""
    if image.mode.startswith("I"):
        # 16 bits of grey: converting would cut off all but the darkest.
        image = image.point(lambda level: level / 256).convert("L")
    plain = image.convert("RGBA" if image.has_transparency_data else "RGB")
    plain.info.clear()
    return plain
