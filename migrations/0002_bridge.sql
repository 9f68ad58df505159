CREATE TABLE "subjects" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"issuer" text NOT NULL,
	"subject" text NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "agent_id" text;--> statement-breakpoint
ALTER TABLE "threads" ADD COLUMN "closed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "agent_id" text;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "agent_gate" jsonb;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "thread_id" text;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "request_hash" text;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "awaited" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "caller_gone_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "cancel_requested_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "subjects" ADD CONSTRAINT "subjects_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "tool_calls_awaited" ON "tool_calls" USING btree ("requested_by","request_hash") WHERE awaited;