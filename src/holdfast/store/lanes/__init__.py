"""Who runs the store's work, and when: lanes write and commit in groups, readers read, each caller with a share."""
