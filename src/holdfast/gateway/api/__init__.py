"""What every route is made of: how a request is read, how it is answered, and how both are documented."""
