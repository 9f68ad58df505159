CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"prefix" text NOT NULL,
	"role" text,
	"policy" jsonb NOT NULL,
	"installation" boolean DEFAULT false NOT NULL,
	"created_by" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"project_id" text NOT NULL,
	"principal_id" text NOT NULL,
	"operation" text NOT NULL,
	"key" text NOT NULL,
	"request_hash" text NOT NULL,
	"result_id" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_project_id_principal_id_operation_key_pk" PRIMARY KEY("project_id","principal_id","operation","key")
);
--> statement-breakpoint
CREATE TABLE "installation" (
	"id" text PRIMARY KEY DEFAULT 'this' NOT NULL,
	"commit_shift" text DEFAULT '0' NOT NULL
);
--> statement-breakpoint
CREATE TABLE "projects" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "agents" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"definition" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "audit_entries" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"principal_id" text NOT NULL,
	"action" text NOT NULL,
	"resource" text NOT NULL,
	"outcome" text NOT NULL,
	"details" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" text NOT NULL,
	"generation_id" text,
	"seq" integer,
	"type" text NOT NULL,
	"data" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"commit_order" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "generations" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"agent_id" text NOT NULL,
	"agent_version" integer NOT NULL,
	"thread_id" text NOT NULL,
	"status" text NOT NULL,
	"settings" jsonb NOT NULL,
	"input" jsonb NOT NULL,
	"requested_by" text NOT NULL,
	"step_count" integer DEFAULT 0 NOT NULL,
	"attempt" integer DEFAULT 0 NOT NULL,
	"next_step" jsonb,
	"stop_reason" text,
	"truncated" boolean DEFAULT false NOT NULL,
	"error_code" text,
	"error_message" text,
	"output_text" text,
	"output_object" jsonb,
	"model" text,
	"model_kind" text,
	"input_tokens" bigint DEFAULT 0 NOT NULL,
	"output_tokens" bigint DEFAULT 0 NOT NULL,
	"last_seq" integer DEFAULT 0 NOT NULL,
	"cancel_requested_at" timestamp (3) with time zone,
	"cancel_reason" text,
	"deadline_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone,
	"wake_at" timestamp (3) with time zone,
	"epoch" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "model_attempts" (
	"generation_id" text NOT NULL,
	"step_index" integer NOT NULL,
	"attempt" integer NOT NULL,
	"project_id" text NOT NULL,
	"agent_id" text NOT NULL,
	"model" text NOT NULL,
	"usage" jsonb NOT NULL,
	"total_tokens" bigint DEFAULT 0 NOT NULL,
	"error_code" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "model_attempts_generation_id_step_index_attempt_pk" PRIMARY KEY("generation_id","step_index","attempt")
);
--> statement-breakpoint
CREATE TABLE "providers" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"base_url" text,
	"secret_name" text,
	"default_model" text NOT NULL,
	"capabilities" jsonb NOT NULL,
	"context_window" integer,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "steps" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"generation_id" text NOT NULL,
	"step_index" integer NOT NULL,
	"attempt" integer NOT NULL,
	"model" text NOT NULL,
	"model_kind" text NOT NULL,
	"parts" jsonb NOT NULL,
	"surface" jsonb NOT NULL,
	"tool_choice" jsonb NOT NULL,
	"finish_reason" text NOT NULL,
	"usage" jsonb NOT NULL,
	"notice" text,
	"elided" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "threads" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"agent_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "secrets" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"sealed" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tool_calls" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"generation_id" text,
	"step_index" integer,
	"call_index" integer,
	"provider_call_id" text,
	"source" text NOT NULL,
	"tool_id" text,
	"tool_version" integer,
	"runtime_name" text NOT NULL,
	"kind" text,
	"status" text NOT NULL,
	"arguments" jsonb,
	"raw_arguments" text,
	"attempt" integer DEFAULT 0 NOT NULL,
	"result" jsonb,
	"is_error" boolean,
	"error_code" text,
	"output_hash" text,
	"requested_by" text NOT NULL,
	"deadline_at" timestamp (3) with time zone,
	"started_at" timestamp (3) with time zone,
	"settled_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"wake_at" timestamp (3) with time zone,
	"epoch" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tool_versions" (
	"tool_id" text NOT NULL,
	"version" integer NOT NULL,
	"project_id" text NOT NULL,
	"definition" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tool_versions_tool_id_version_pk" PRIMARY KEY("tool_id","version")
);
--> statement-breakpoint
CREATE TABLE "tools" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"definition" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_hash" ON "api_keys" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "api_keys_list" ON "api_keys" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "idempotency_keys_expiry" ON "idempotency_keys" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "agents_name" ON "agents" USING btree ("project_id","name");--> statement-breakpoint
CREATE INDEX "agents_list" ON "agents" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "audit_entries_list" ON "audit_entries" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "events_generation" ON "events" USING btree ("generation_id","seq") WHERE generation_id is not null;--> statement-breakpoint
CREATE INDEX "events_feed" ON "events" USING btree ("project_id","commit_order","id");--> statement-breakpoint
CREATE INDEX "generations_wake" ON "generations" USING btree ("wake_at") WHERE wake_at is not null;--> statement-breakpoint
CREATE INDEX "generations_list" ON "generations" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "generations_by_agent" ON "generations" USING btree ("agent_id","created_at","id");--> statement-breakpoint
CREATE INDEX "generations_by_thread" ON "generations" USING btree ("thread_id","created_at","id");--> statement-breakpoint
CREATE INDEX "model_attempts_budget" ON "model_attempts" USING btree ("project_id","agent_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "providers_name" ON "providers" USING btree ("project_id","name");--> statement-breakpoint
CREATE INDEX "providers_list" ON "providers" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "steps_place" ON "steps" USING btree ("generation_id","step_index");--> statement-breakpoint
CREATE INDEX "threads_list" ON "threads" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "secrets_name" ON "secrets" USING btree ("project_id","name");--> statement-breakpoint
CREATE UNIQUE INDEX "tool_calls_place" ON "tool_calls" USING btree ("generation_id","step_index","call_index") WHERE generation_id is not null;--> statement-breakpoint
CREATE INDEX "tool_calls_list" ON "tool_calls" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "tool_calls_wake" ON "tool_calls" USING btree ("wake_at") WHERE wake_at is not null;--> statement-breakpoint
CREATE INDEX "tool_calls_unknown" ON "tool_calls" USING btree ("project_id","created_at","id") WHERE status = 'UNKNOWN';--> statement-breakpoint
CREATE UNIQUE INDEX "tools_name" ON "tools" USING btree ("project_id","name");--> statement-breakpoint
CREATE INDEX "tools_list" ON "tools" USING btree ("project_id","created_at","id");