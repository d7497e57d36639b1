"""Full text: how words are told apart, indexed and found."""
