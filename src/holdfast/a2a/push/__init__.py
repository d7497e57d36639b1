"""Push notifications: where, by whom and to whom the news of a task are posted."""
