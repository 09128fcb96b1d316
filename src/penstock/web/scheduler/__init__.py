"""How all of it is scheduled: policies as forms, operators by cost, the event log in sentences."""
