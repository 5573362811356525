"""The local web application: shows a store's runs, also while they run, and stores marks, notes, labels and drafts."""
