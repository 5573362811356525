"""Pages made of what is stored: charts, one-file HTML, Markdown."""
