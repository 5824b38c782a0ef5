"""A submission to Kaggle: a file, or a folder or an archive with a file `main.py`; where Kaggle puts it."""

from __future__ import annotations

KAGGLE = "kaggle"
"""The bot that plays submissions."""
FILE = "file"
"""Its option that names the submission."""
MAIN = "main.py"
"""The file with the agent, at the top of a submission."""
PLACE = "/kaggle_simulations/agent"
"""The folder in which a submission finds its files on Kaggle."""
