"""Cases of the golden vectors: words, records, files, and the answers of both references."""
