"""Which splits of a leaf are tried, and with which learners."""
