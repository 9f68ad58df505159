ALTER TABLE "approvals" ADD COLUMN "question" jsonb;--> statement-breakpoint
CREATE INDEX "generations_open" ON "generations" USING btree ("project_id","status") WHERE status in ('QUEUED', 'RUNNING', 'WAITING');--> statement-breakpoint
CREATE INDEX "upstreams_of" ON "upstreams" USING btree ("project_id","status");