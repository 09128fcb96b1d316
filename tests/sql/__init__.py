"""Tests of `penstock.sql`."""
