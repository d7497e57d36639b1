"""A LangGraph team that answers the customers of an operator of tandem flights."""
