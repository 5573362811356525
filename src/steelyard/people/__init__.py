"""What people do with runs: labels, queues, error analyses, drafts of datasets, and marks.

events                            one table of who did what, when, to which record, and what they had seen
labels, marks                     on a run and its records
draw                              the records of a queue or an error analysis
queues, queue_values              who labels which record, without what could influence them
codings, error_codes, code_scorer notes, their codes, and how often each occurs
dataset_drafts, named_datasets    changes of a dataset before they are saved as a new version
review, sheets, coding_sheet      what people should look at, and the same work in a spreadsheet
"""
