"""What leaves Python: files, reports, pages."""
