"""What `make bench` runs: one module a measurement, services it starts itself, and the report."""
