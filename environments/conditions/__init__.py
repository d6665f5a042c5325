"""Conditions: changes to any environment, as an axis of the grid."""
