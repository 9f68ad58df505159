CREATE TABLE "agent_versions" (
	"agent_id" text NOT NULL,
	"version" integer NOT NULL,
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"definition" jsonb NOT NULL,
	"created_by" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "agent_versions_agent_id_version_pk" PRIMARY KEY("agent_id","version")
);
--> statement-breakpoint
ALTER TABLE "model_attempts" ADD COLUMN "started_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "steps" ADD COLUMN "started_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "steps" ADD COLUMN "first_token_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "tool_versions" ADD COLUMN "created_by" text;--> statement-breakpoint
CREATE INDEX "audit_entries_by_principal" ON "audit_entries" USING btree ("project_id","principal_id","created_at","id");--> statement-breakpoint
CREATE INDEX "audit_entries_by_action" ON "audit_entries" USING btree ("project_id","action","created_at","id");--> statement-breakpoint
CREATE INDEX "audit_entries_by_resource" ON "audit_entries" USING btree ("project_id","resource","created_at","id");--> statement-breakpoint
CREATE INDEX "audit_entries_denied" ON "audit_entries" USING btree ("project_id","created_at","id") WHERE outcome = 'DENIED';--> statement-breakpoint
CREATE INDEX "generations_by_requester" ON "generations" USING btree ("requested_by","created_at","id");--> statement-breakpoint
CREATE INDEX "generations_not_completed" ON "generations" USING btree ("project_id","status","created_at","id") WHERE status in ('FAILED', 'CANCELLED', 'EXPIRED');--> statement-breakpoint
CREATE INDEX "tool_calls_by_status" ON "tool_calls" USING btree ("project_id","status","created_at","id") WHERE status <> 'SUCCEEDED';--> statement-breakpoint
CREATE INDEX "tool_calls_by_agent" ON "tool_calls" USING btree ("agent_id","created_at","id") WHERE agent_id is not null;--> statement-breakpoint
INSERT INTO "agent_versions" ("agent_id", "version", "project_id", "name", "definition", "created_at")
	SELECT "id", "version", "project_id", "name", "definition", "updated_at" FROM "agents";
