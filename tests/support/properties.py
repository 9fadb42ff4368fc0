"""How property tests are run here: the same examples every time, and no clock to fail by."""

from hypothesis import HealthCheck, settings

steady = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
"""Decorates a property test."""

thorough = settings(steady, max_examples=500)
"""For what reads bytes: more examples, still bounded."""
