"""The papers' experiments, out of what the API says of them. Pure."""
