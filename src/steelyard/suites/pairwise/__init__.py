"""Two or more targets answer the same questions: which of each pair is preferred?"""
