"""Tests of the report: `python3 -m unittest discover -s scripts/compare/tests`."""
