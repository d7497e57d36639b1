-- Where the index of words is, in a store whose order may begin again (PostgreSQL); here it never does.
ALTER TABLE search_progress ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1;
