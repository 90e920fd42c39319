"""From what a user hands over to rows: tables, parts, gaps, data sets."""
