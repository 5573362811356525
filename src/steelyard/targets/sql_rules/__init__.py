"""Text-to-SQL without a model: rules over the question and the schema, as in early natural-language interfaces.

question   the question as spans that mean tables, columns, operators or values; Chinese put into the same words
rules      conditions, figures, groups, order and columns, read from the spans into a plan
sql        the plan as SQL

Words to tables and columns, phrases to operators, then a query tree follow F. Li, H. V. Jagadish, "Constructing an
interactive natural language interface for relational databases", PVLDB 8(1), 2014. Deviations: no parse tree of the
question (nearness of words stands for it), nobody is asked when it is ambiguous (the likeliest is taken), and values
are not looked up in the data, which a model that is given the schema alone does not see either.
"""
