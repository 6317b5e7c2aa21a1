"""What `make bench-cluster` measures, a module a part. docs/bench/cluster.md says what each means."""
