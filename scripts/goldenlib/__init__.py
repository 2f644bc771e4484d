"""The parts of scripts/golden-pgbench."""
