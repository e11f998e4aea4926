"""Constituency parsing as translation (section 6.3, Table 4): trees, treebanks, brackets, and `aiayn parse`."""
