"""The judge: what an honest target may answer, and what it did not keep to, from the record alone."""
