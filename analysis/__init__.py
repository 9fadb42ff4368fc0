"""From journals to the papers' metrics, figures and claims: PySpark, closed forms, report."""
