"""Training on a cluster."""
