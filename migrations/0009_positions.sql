ALTER TABLE "installation" ADD COLUMN "incarnation" text;--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "fingerprint" text;--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "position_floor" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "position" bigint;--> statement-breakpoint
CREATE UNIQUE INDEX "events_position" ON "events" USING btree ((position + 0)) WHERE position is not null;--> statement-breakpoint
CREATE INDEX "events_project_position" ON "events" USING btree ("project_id","position") WHERE position is not null;--> statement-breakpoint
CREATE INDEX "events_unnumbered" ON "events" USING btree ("id") WHERE position is null;--> statement-breakpoint
-- Gives the next positions to committed events that have none, at most 2,000, in the order of their ids. One caller at a
-- time: a second one gets {"busy": true}, or waits when "waits" is true. Each statement in here has a snapshot of its own,
-- so the second one, under the lock, sees every position that was given out before. See docs/decisions/0014.
CREATE FUNCTION number_events(waits boolean) RETURNS jsonb LANGUAGE plpgsql
SET lock_timeout TO '2s' SET jit TO off SET enable_seqscan TO off SET enable_hashjoin TO off SET enable_mergejoin TO off
AS $$
DECLARE
  answer jsonb;
BEGIN
  IF waits THEN
    PERFORM pg_advisory_xact_lock(4215203782);
  ELSIF NOT pg_try_advisory_xact_lock(4215203782) THEN
    RETURN jsonb_build_object('busy', true, 'count', 0, 'projects', '{}'::jsonb,
      'newest', (SELECT coalesce(max(position + 0), 0) FROM events WHERE position IS NOT NULL));
  END IF;
  WITH newest AS (
    SELECT coalesce(max(position + 0), 0) AS at FROM events WHERE position IS NOT NULL
  ), base AS (
    SELECT greatest(newest.at, (SELECT position_floor FROM installation WHERE id = 'this')) AS at FROM newest
  ), waiting AS (
    SELECT id, row_number() OVER (ORDER BY id) AS n
    FROM (SELECT id FROM events WHERE position IS NULL ORDER BY id LIMIT 2000) AS unnumbered
  ), given AS (
    UPDATE events AS e SET position = base.at + waiting.n FROM waiting, base WHERE e.id = waiting.id
    RETURNING e.project_id, e.position
  ), projects AS (
    SELECT project_id, max(position) AS at, count(*) AS n FROM given GROUP BY project_id
  )
  SELECT jsonb_build_object('busy', false, 'count', coalesce(sum(projects.n), 0),
      'projects', coalesce(jsonb_object_agg(projects.project_id, projects.at) FILTER (WHERE projects.n > 0), '{}'::jsonb),
      'newest', greatest((SELECT at FROM newest), max(projects.at)))
    INTO answer FROM projects;
  RETURN answer;
END $$;
