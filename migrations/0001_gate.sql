CREATE TABLE "approvals" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"tool_call_id" text NOT NULL,
	"generation_id" text,
	"agent_id" text,
	"thread_id" text,
	"tool_id" text NOT NULL,
	"tool_version" integer NOT NULL,
	"runtime_name" text NOT NULL,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"arguments" jsonb NOT NULL,
	"edited_arguments" jsonb,
	"masked" jsonb,
	"digest" text NOT NULL,
	"requested_by" text NOT NULL,
	"requirement" jsonb NOT NULL,
	"on_approve" text NOT NULL,
	"client_timeout_ms" integer,
	"votes" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"escalated_at" timestamp (3) with time zone,
	"settled_at" timestamp (3) with time zone,
	"void_reason" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"wake_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "grants" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"approval_id" text NOT NULL,
	"tool_id" text NOT NULL,
	"tool_version" integer NOT NULL,
	"runtime_name" text NOT NULL,
	"scope" text NOT NULL,
	"arguments_hash" text,
	"schema" jsonb,
	"agent_id" text,
	"thread_id" text,
	"requested_by" text,
	"max_uses" integer NOT NULL,
	"uses" integer DEFAULT 0 NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"granted_by" text NOT NULL,
	"revoked_at" timestamp (3) with time zone,
	"revoked_by" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "attempts" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "approval_id" text;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "grant_id" text;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "edited_keys" jsonb;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "masked" jsonb;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "resolution" text;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "resolved_by" text;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "resolved_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "approvals_list" ON "approvals" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "approvals_pending" ON "approvals" USING btree ("project_id","created_at","id") WHERE status = 'PENDING';--> statement-breakpoint
CREATE INDEX "approvals_settled" ON "approvals" USING btree ("project_id","settled_at");--> statement-breakpoint
CREATE INDEX "approvals_wake" ON "approvals" USING btree ("wake_at") WHERE wake_at is not null;--> statement-breakpoint
CREATE INDEX "approvals_by_generation" ON "approvals" USING btree ("generation_id") WHERE generation_id is not null;--> statement-breakpoint
CREATE INDEX "approvals_by_call" ON "approvals" USING btree ("tool_call_id");--> statement-breakpoint
CREATE UNIQUE INDEX "approvals_one_pending" ON "approvals" USING btree ("tool_call_id") WHERE status = 'PENDING';--> statement-breakpoint
CREATE INDEX "grants_list" ON "grants" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "grants_by_tool" ON "grants" USING btree ("tool_id","expires_at");--> statement-breakpoint
CREATE INDEX "tool_calls_by_tool" ON "tool_calls" USING btree ("tool_id","created_at","id");