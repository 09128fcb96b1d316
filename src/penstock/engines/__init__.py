"""What executes steps: `sim` in virtual time; `spark` will join it."""
