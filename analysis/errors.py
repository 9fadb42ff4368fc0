"""What goes wrong with journals or with Spark, said in one sentence."""


class AnalysisError(Exception):
    """The journals cannot be analysed; the message says why, and what to do."""
