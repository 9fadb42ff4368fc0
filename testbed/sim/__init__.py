"""The deterministic simulator: hosts the same protocol code as the containers do."""
