"""What every experiment uses: metadata, results, stored pieces, pages, data."""
