"""Values that are not there yet, and what is known of them before anything runs."""
