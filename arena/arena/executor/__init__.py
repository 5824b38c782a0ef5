"""Plays batches of matches in this process, in local worker processes or on worker machines."""
