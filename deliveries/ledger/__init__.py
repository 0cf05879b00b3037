"""The ledger: every change of a delivery's state, and the only writer of its tables.

Each function is one short transaction, or joins the caller's; its docstring says which. Every
transition is one UPDATE filtered by the state and the lease token it expects.
Lock order: lane, then deliveries by id, then invoices; docs/architecture.md tells the exception.
"""

from deliveries.ledger.archiving import (
    Archived,
    archive,
    count_archivable,
    count_droppable,
    drop_contents,
)
from deliveries.ledger.batches import Batch
from deliveries.ledger.blaming import record_blames, singled_out
from deliveries.ledger.cancelling import cancel, cancel_many
from deliveries.ledger.checking import Contradiction, Sum, check, contradictions, sum_up
from deliveries.ledger.claiming import Claim, claim, extend, wake_due
from deliveries.ledger.correcting import note_correction
from deliveries.ledger.following_up import follow_up_reports, report
from deliveries.ledger.forgetting import count_forgettable, forget_reports
from deliveries.ledger.handing_over import LeaseTooShort, begin_hand_over
from deliveries.ledger.hooks import follow_up, undoing_nothing
from deliveries.ledger.lag import lag, ready, seconds_to_send
from deliveries.ledger.lanes import configure, heed_rate, lock_lane, pause, record_results, resume
from deliveries.ledger.mailboxes import blamed
from deliveries.ledger.reconciling import Reconciled, SentLog, reconcile
from deliveries.ledger.replaying import Case, Prospect, prospects, replay, replay_many
from deliveries.ledger.requesting import Requested, request
from deliveries.ledger.requesting_many import Wanted, request_many
from deliveries.ledger.settling import release, settle, settle_batch
from deliveries.ledger.sql import database_now
from deliveries.ledger.vouching import vouch
from deliveries.ledger.waking import CHANNEL
from deliveries.policy import key_lifetime

__all__ = [
    "CHANNEL",
    "Archived",
    "Batch",
    "Case",
    "Claim",
    "Contradiction",
    "LeaseTooShort",
    "Prospect",
    "Reconciled",
    "Requested",
    "SentLog",
    "Sum",
    "Wanted",
    "archive",
    "begin_hand_over",
    "blamed",
    "cancel",
    "cancel_many",
    "check",
    "claim",
    "configure",
    "contradictions",
    "count_archivable",
    "count_droppable",
    "count_forgettable",
    "database_now",
    "drop_contents",
    "extend",
    "follow_up",
    "follow_up_reports",
    "forget_reports",
    "heed_rate",
    "key_lifetime",
    "lag",
    "lock_lane",
    "note_correction",
    "pause",
    "prospects",
    "ready",
    "reconcile",
    "record_blames",
    "record_results",
    "release",
    "replay",
    "replay_many",
    "report",
    "request",
    "request_many",
    "resume",
    "seconds_to_send",
    "settle",
    "settle_batch",
    "singled_out",
    "sum_up",
    "undoing_nothing",
    "vouch",
    "wake_due",
]
