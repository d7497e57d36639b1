"""A pipeline that answers a mailbox: fetch, classify, extract, draft, deliver, on LangGraph."""
