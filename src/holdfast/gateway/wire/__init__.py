"""What clients send and get, as types; the OpenAPI document is made from them. Names are camelCase on the wire."""
