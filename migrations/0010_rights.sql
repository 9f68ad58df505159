CREATE TABLE "gate_changes" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"target" text NOT NULL,
	"target_version" integer NOT NULL,
	"change" jsonb NOT NULL,
	"note" text,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"proposed_by" text NOT NULL,
	"decided_by" text,
	"decided_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "votes" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "gates_need_second" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "run_grace_seconds" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "files" ADD COLUMN "agent_id" text;--> statement-breakpoint
ALTER TABLE "generations" ADD COLUMN "requester" jsonb;--> statement-breakpoint
ALTER TABLE "secrets" ADD COLUMN "allowed_hosts" jsonb;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "requester" jsonb;--> statement-breakpoint
ALTER TABLE "upstream_logins" ADD COLUMN "browser_hash" text;--> statement-breakpoint
CREATE INDEX "gate_changes_list" ON "gate_changes" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "api_keys_made_by" ON "api_keys" USING btree ("created_by");