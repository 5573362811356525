"""What one run says: its scores, exam details, contingency tables and turns."""
