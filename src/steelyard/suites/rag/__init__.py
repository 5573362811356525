"""Questions about documents: is the answer right, and is it supported by what was retrieved?"""
