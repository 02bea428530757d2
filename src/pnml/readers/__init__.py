"""Tables in and out: CSV, Parquet, Arrow, databases and data frames, batch by batch."""

from pnml.readers.csv_text import ReadOptions as ReadOptions
from pnml.readers.data_frames import FrameKind as FrameKind
from pnml.readers.data_frames import as_kind as as_kind
from pnml.readers.data_frames import kind_of as kind_of
from pnml.readers.expected import UNREADABLE as UNREADABLE
from pnml.readers.table_source import Retyped as Retyped
from pnml.readers.table_source import TableSource as TableSource
from pnml.readers.table_source import open_table as open_table
from pnml.readers.table_writer import TableWriter as TableWriter
from pnml.readers.table_writer import check_output as check_output
from pnml.readers.table_writer import table_writer as table_writer
