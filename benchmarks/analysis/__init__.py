"""How long the analysis takes, against a floor."""
