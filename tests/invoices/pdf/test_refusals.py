"""What cannot be rendered is refused with a reason, and ends no worker."""

from dataclasses import replace
from decimal import Decimal

import pytest

from invoices.money import TaxAmount
from invoices.pdf import (
    InvoiceNotRenderable,
    render,
)
from tests.invoices.pdf.documents import LAGOS, line


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"currency": "XYZ"}, "XYZ"),
        ({"locale": "tlh"}, "tlh"),
        ({"amount_minor": 1}, "net and taxes do not add up"),
        ({"lines": (line("Tea", 100),)}, "the lines do not add up"),
        ({"taxes": (TaxAmount(Decimal(5), 100, 5),)}, "net and taxes do not add up"),
        ({"discount_minor": 1}, "net and taxes do not add up"),
        (
            {"lines": (line("Tea", 4_500_000),), "discount_minor": 5, "amount_minor": 4_499_995},
            "the taxes are not those of its lines",
        ),
    ],
)
def test_a_document_that_cannot_be_right_is_refused_with_a_reason(
    changes: dict[str, object], reason: str
) -> None:
    with pytest.raises(InvoiceNotRenderable, match=reason) as refused:
        render(replace(LAGOS, **changes))  # type: ignore[arg-type]
    assert refused.value.reason.endswith(".")


def test_an_error_of_typst_is_told_with_the_invoices_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("invoices.pdf.rendering._template", lambda: b'#panic("out of paper")')
    with pytest.raises(InvoiceNotRenderable, match=r"INV-0001 could not be made: .*out of paper"):
        render(LAGOS)


class PanicException(BaseException):
    """Stands for pyo3's, which cannot be imported."""


@pytest.mark.parametrize(
    ("error", "raised"),
    [(PanicException(), InvoiceNotRenderable), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_a_panic_inside_typst_ends_no_worker(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, raised: type[BaseException]
) -> None:
    def broken() -> bytes:
        raise error

    monkeypatch.setattr("invoices.pdf.rendering._template", broken)
    with pytest.raises(raised):
        render(LAGOS)
