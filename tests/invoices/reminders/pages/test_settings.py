"""The settings of reminders."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from invoices.models import Organization
from tests import factories
from tests.invoices.reminders.pages.reading import said
from tests.reading import text

pytestmark = pytest.mark.thorough

SETTINGS = "/settings/reminders"
GIVEN = {"reminders_enabled": "on", "reminders_after_days": "7", "reminder_limit": "3"}


def values() -> tuple[bool, int, int | None]:
    organization = Organization.objects.get(slug="mainland-supplies")
    return (
        organization.reminders_enabled,
        organization.reminders_after_days,
        organization.reminder_limit,
    )


def test_an_owner_sets_when_and_how_often(as_owner: Client) -> None:
    assert 'name="reminders_after_days" value="1"' in text(as_owner.get(SETTINGS))
    answer = as_owner.post(SETTINGS, GIVEN)
    assert answer.headers["Location"] == SETTINGS
    assert "The settings are saved." in said(as_owner.get(SETTINGS))
    assert values() == (True, 7, 3)
    as_owner.post(SETTINGS, {"reminders_after_days": "1", "reminder_limit": ""})
    assert values() == (False, 1, None)


@pytest.mark.parametrize("days", ["", "0", "-1", "366", "1.5", "soon", "9" * 30])
def test_days_that_make_no_sense_are_refused_with_a_sentence(as_owner: Client, days: str) -> None:
    page = said(as_owner.post(SETTINGS, GIVEN | {"reminders_after_days": days}))
    assert page.count("Enter a whole number of days from 1 to 365.") == 1
    assert "Nothing is saved yet" in page
    assert values() == (True, 1, None)


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "1.5", "few", "9" * 30])
def test_a_limit_that_makes_no_sense_is_refused_with_a_sentence(
    as_owner: Client, limit: str
) -> None:
    page = said(as_owner.post(SETTINGS, GIVEN | {"reminder_limit": limit}))
    assert page.count("Enter a whole number from 1 to 1000, or leave it empty") == 1
    assert values() == (True, 1, None)


def test_an_error_belongs_to_its_field_for_those_who_hear_the_page(as_owner: Client) -> None:
    page = text(as_owner.post(SETTINGS, GIVEN | {"reminder_limit": "0"}))
    [field] = re.findall(r"<input[^>]*reminder_limit[^>]*>", page)
    assert 'aria-invalid="true"' in field
    [described_by] = re.findall(r'aria-describedby="([^"]+)"', field)
    for part in described_by.split():
        assert f'id="{part}"' in page


def test_saving_writes_no_column_but_its_own(as_owner: Client, organization: Organization) -> None:
    as_owner.post(SETTINGS, GIVEN | {"name": "Other Ltd", "closed_at": "2026-01-01"})
    before = organization.name
    organization.refresh_from_db()
    assert (organization.name, organization.closed_at) == (before, None)


@pytest.mark.parametrize("role", ["member", "viewer"])
def test_others_of_the_organization_see_the_settings_and_change_nothing(
    client: Client, organization: Organization, role: str
) -> None:
    client.force_login(factories.make_member(organization, "someone", role))
    page = said(client.get(SETTINGS))
    assert "First reminder 1 day after the due date" in page
    assert "Owners of the organization can change this." in page
    assert SETTINGS not in re.findall(r'action="([^"]*)"', text(client.get(SETTINGS)))
    assert client.post(SETTINGS, GIVEN).status_code == 403
    assert values() == (True, 1, None)


def test_an_outsiders_settings_are_those_of_another_organization(
    client: Client, organization: Organization, outsider: User
) -> None:
    assert client.get(SETTINGS).headers["Location"] == f"/login?next={SETTINGS}"
    assert client.post(SETTINGS, GIVEN).headers["Location"].startswith("/login")
    client.force_login(outsider)
    assert client.post(SETTINGS, GIVEN).status_code == 302
    assert values() == (True, 1, None)


def test_settings_are_neither_put_nor_deleted(as_owner: Client) -> None:
    assert as_owner.put(SETTINGS).status_code == 405
    assert as_owner.delete(SETTINGS).status_code == 405
