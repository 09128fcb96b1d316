"""Tests of `penstock.verify`."""
