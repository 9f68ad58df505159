-- As number_events, which the release before calls, but the events are found by the places at which they were seen. Nobody
-- changes these meanwhile: only one session numbers, and nothing else writes an event. When statistics speak of one row, as
-- after a sweep that left the newest event, any index that has the id somewhere seems as good as the primary key, and each
-- event was looked up by reading all of it. For the same reason the newest position is read with a condition that only the
-- table can answer: all of an index that has the position was read instead of the end of the one that is sorted by it.
CREATE FUNCTION number_waiting_events(waits boolean, most integer) RETURNS jsonb LANGUAGE plpgsql
SET lock_timeout TO '2s' SET jit TO off SET enable_seqscan TO off SET enable_hashjoin TO off SET enable_mergejoin TO off
AS $$
DECLARE
  busy boolean := false;
  base bigint;
  waiting bigint[];
  places tid[];
  given jsonb;
BEGIN
  IF waits THEN
    PERFORM pg_advisory_xact_lock(4215203782);
  ELSE
    busy := NOT pg_try_advisory_xact_lock(4215203782);
  END IF;
  base := coalesce((SELECT e.position FROM events AS e WHERE e.position IS NOT NULL AND e.created_at > '-infinity'
    ORDER BY e.position + 0 DESC LIMIT 1), 0);
  IF busy THEN
    RETURN jsonb_build_object('busy', true, 'count', 0, 'projects', '{}'::jsonb, 'newest', base);
  END IF;
  SELECT array_agg(w.id), array_agg(w.place) INTO waiting, places
    FROM (SELECT id, ctid AS place FROM events WHERE position IS NULL ORDER BY id LIMIT most) AS w;
  IF waiting IS NULL THEN
    RETURN jsonb_build_object('busy', false, 'count', 0, 'projects', '{}'::jsonb, 'newest', base);
  END IF;
  base := greatest(base, (SELECT position_floor FROM installation WHERE id = 'this'));
  WITH numbered AS (
    UPDATE events AS e SET position = base + width_bucket(e.id, waiting) WHERE e.ctid = ANY (places)
    RETURNING e.project_id, e.position
  ), projects AS (
    SELECT project_id, max(position) AS at FROM numbered GROUP BY project_id
  )
  SELECT jsonb_object_agg(project_id, at) INTO given FROM projects;
  RETURN jsonb_build_object('busy', false, 'count', cardinality(waiting), 'projects', given,
    'newest', base + cardinality(waiting));
END $$;
