"""The parts of scripts/versus."""
