"""What pages say, one file for each feature: values of the analysis as sections that every medium renders."""
