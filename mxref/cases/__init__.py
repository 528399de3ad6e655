"""What a case of the golden vectors is: words, records, answers of both references, files."""
