"""Files that come with messages, inline, by reference or as uploads."""
