"""Measurements of Penstock itself, one per file: `penstock bench NAME`. Start with `decisions`."""
