"""What a column means to a learner: tables from arrays and data frames, and their encoding."""

from pnml.columns.encoder import ColumnEncoder as ColumnEncoder
from pnml.columns.encoder import Encoded as Encoded
from pnml.columns.table import Table as Table
from pnml.columns.table import read_columns as read_columns
