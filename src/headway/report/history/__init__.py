"""What earlier runs taught, as tables and documents."""
