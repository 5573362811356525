"""Records of runs as files: lines of JSON, tables and workbooks."""
