"""Parasite events (CAMCAST 6.1.3, Table 2): copies received by processes that are not interested.

Every copy counts, the second one at the same process too; CAMCAST itself has none, by design.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F


def parasites() -> dict[str, Column]:
    return {"parasites": F.avg("parasites")}
