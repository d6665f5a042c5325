"""Where episodes are carried out: in this process, or on many machines."""
