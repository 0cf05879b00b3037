"""The ledger: every change of a delivery's state, and the only writer of its tables.

Each function is one short transaction, or joins the caller's; its docstring says which. Every
transition is one UPDATE filtered by the state and the lease token it expects.
Lock order: lane, then deliveries by id, then invoices.
"""

from deliveries.ledger.claiming import Claim, claim, extend, wake_due
from deliveries.ledger.handing_over import LeaseTooShort, begin_hand_over
from deliveries.ledger.hooks import follow_up
from deliveries.ledger.lag import lag, ready
from deliveries.ledger.lanes import configure, lock_lane, pause, record_results, resume
from deliveries.ledger.replaying import Batch, cancel, cancel_many, replay, replay_many
from deliveries.ledger.requesting import CHANNEL, Requested, request
from deliveries.ledger.requesting_many import Wanted, request_many
from deliveries.ledger.settling import release, settle, settle_batch

__all__ = [
    "CHANNEL",
    "Batch",
    "Claim",
    "LeaseTooShort",
    "Requested",
    "Wanted",
    "begin_hand_over",
    "cancel",
    "cancel_many",
    "claim",
    "configure",
    "extend",
    "follow_up",
    "lag",
    "lock_lane",
    "pause",
    "ready",
    "record_results",
    "release",
    "replay",
    "replay_many",
    "request",
    "request_many",
    "resume",
    "settle",
    "settle_batch",
    "wake_due",
]
