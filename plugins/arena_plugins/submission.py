"""Names of Kaggle submissions. A submission is a file, or a folder or archive that contains `main.py`."""

from __future__ import annotations

KAGGLE = "kaggle"
"""The bot that runs Kaggle submissions."""
FILE = "file"
"""The option of the bot `kaggle` that names the submission."""
MAIN = "main.py"
"""The file that defines the agent, at the top of a submission."""
PLACE = "/kaggle_simulations/agent"
"""The folder in which Kaggle places the files of a submission."""
