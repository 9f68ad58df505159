-- The same with the most events as an argument, and with a plan that does not depend on statistics: after much was removed
-- and vacuumed they say that the table is nearly empty, and the join of events with the waiting ones read all of the former
-- for each of the latter. Here the events are found by their primary key, and the number of each by a binary search in the
-- sorted list. The release before calls the function of one argument.
CREATE FUNCTION number_events(waits boolean, most integer) RETURNS jsonb LANGUAGE plpgsql
SET lock_timeout TO '2s' SET jit TO off SET enable_seqscan TO off SET enable_hashjoin TO off SET enable_mergejoin TO off
AS $$
DECLARE
  base bigint;
  waiting bigint[];
  given jsonb;
BEGIN
  IF waits THEN
    PERFORM pg_advisory_xact_lock(4215203782);
  ELSIF NOT pg_try_advisory_xact_lock(4215203782) THEN
    RETURN jsonb_build_object('busy', true, 'count', 0, 'projects', '{}'::jsonb,
      'newest', (SELECT coalesce(max(position + 0), 0) FROM events WHERE position IS NOT NULL));
  END IF;
  SELECT coalesce(max(position + 0), 0) INTO base FROM events WHERE position IS NOT NULL;
  waiting := ARRAY(SELECT id FROM events WHERE position IS NULL ORDER BY id LIMIT most);
  IF cardinality(waiting) = 0 THEN
    RETURN jsonb_build_object('busy', false, 'count', 0, 'projects', '{}'::jsonb, 'newest', base);
  END IF;
  base := greatest(base, (SELECT position_floor FROM installation WHERE id = 'this'));
  WITH numbered AS (
    UPDATE events AS e SET position = base + width_bucket(e.id, waiting) WHERE e.id = ANY (waiting)
    RETURNING e.project_id, e.position
  ), projects AS (
    SELECT project_id, max(position) AS at FROM numbered GROUP BY project_id
  )
  SELECT jsonb_object_agg(project_id, at) INTO given FROM projects;
  RETURN jsonb_build_object('busy', false, 'count', cardinality(waiting), 'projects', given,
    'newest', base + cardinality(waiting));
END $$;
