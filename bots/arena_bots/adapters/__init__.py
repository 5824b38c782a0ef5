"""Bots that run programs written for other systems: Kaggle, Gomocup, OpenSpiel, or any executable."""
