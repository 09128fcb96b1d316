"""Streams as pages show them, how they are registered, and rows that people push."""
