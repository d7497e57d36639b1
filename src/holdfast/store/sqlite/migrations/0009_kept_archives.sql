-- Archives that have not been purged, by when they were deleted: what a purge by age asks for.
CREATE INDEX archives_kept ON archives (tenant, deleted_at) WHERE state = 'kept';
