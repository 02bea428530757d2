"""Model files: exact, safe, written whole or not at all."""

from pnml.models.model_file import load as load
from pnml.models.model_file import save as save
