"""Tests of `penstock.oracle`."""
