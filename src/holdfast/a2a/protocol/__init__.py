"""A2A as it is spoken: the envelope, both versions, the card, and the plain data between them."""
