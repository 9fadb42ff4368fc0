"""Errors by blame.

What another peer did wrong is a `RemoteError`: the host counts it, drops the message and goes on.
What we, our caller or our configuration did wrong is a `LocalError`: it stops us, loudly.
"""


class TestbedError(Exception):
    """Anything that this project raises on purpose."""

    __test__ = False  # the name begins like a test class's


class LocalError(TestbedError):
    """We, our caller or our configuration are at fault."""


class RemoteError(TestbedError):
    """Another peer sent something that we must not act on."""


class TopicError(LocalError):
    """A topic's name or its place in the hierarchy is not acceptable."""
