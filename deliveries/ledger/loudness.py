"""How loud each report is: a later one never makes a delivery's state quieter."""

from deliveries.models import Delivery

# The enumeration's own order (twenty PR #24473: a late "delivered" overwrote "complained").
LOUDNESS = {outcome.value: place for place, outcome in enumerate(Delivery.AfterSending, start=1)}

# The same as SQL, of the expression in its place; takes the parameter `loudness`.
RANK = "array_position(%(loudness)s::text[], {}::text)"
