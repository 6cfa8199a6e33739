"""What SECURITY.md promises."""
