"""A team that answers the customers of an operator of tandem flights: a governor and three specialists, on LangGraph."""
