"""Bots that wrap what was written for other arenas: Kaggle, Gomocup, OpenSpiel, any program."""
