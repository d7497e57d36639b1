-- Lists of tasks, the last changed first: of all, and of one context.

CREATE INDEX tasks_by_change ON tasks (tenant, updated_at, task_id);
CREATE INDEX tasks_by_context ON tasks (tenant, context_id, updated_at, task_id);
