"""How patiently matters are told."""

from __future__ import annotations

from whisk.values import Record


class WebhookSettings(Record, frozen=True):
    """Seconds. `timeout` is for one whole request. After `attempts` in a row a delivery is given up; the pauses between
    them double, from `retry_first` to `retry_most`.
    """

    timeout: float = 10.0
    attempts: int = 10
    retry_first: float = 1.0
    retry_most: float = 300.0
