"""One Spark session for all tests of the analysis: starting one takes longer than most of them."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from analysis.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with session("local[2]", "1g", is_short=True) as started:
        yield started
