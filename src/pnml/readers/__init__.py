"""Tables in and out: CSV, Parquet and Arrow, batch by batch."""

from pnml.readers.csv_text import ReadOptions as ReadOptions
from pnml.readers.source import Retyped as Retyped
from pnml.readers.source import TableSource as TableSource
from pnml.readers.source import open_table as open_table
from pnml.readers.writing import TableWriter as TableWriter
from pnml.readers.writing import check_output as check_output
from pnml.readers.writing import table_writer as table_writer
