"""For every test: the same examples each time, and no clock to fail by."""

from hypothesis import settings

from tests.support.properties import steady

settings.register_profile("steady", steady)
settings.load_profile("steady")
