"""Search over the states of a session: which programs, one after the other, lead to the best one."""
