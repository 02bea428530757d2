"""DIAL as a query strategy of other active-learning libraries."""
