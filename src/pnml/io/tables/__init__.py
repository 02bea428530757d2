"""Tables in and out: CSV, Parquet and Arrow, batch by batch."""

from pnml.io.tables.csv_text import ReadOptions as ReadOptions
from pnml.io.tables.source import Retyped as Retyped
from pnml.io.tables.source import TableSource as TableSource
from pnml.io.tables.source import open_table as open_table
from pnml.io.tables.writing import TableWriter as TableWriter
from pnml.io.tables.writing import check_output as check_output
from pnml.io.tables.writing import table_writer as table_writer
