"""The modules of scripts/golden-pgbench."""
