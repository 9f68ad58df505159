CREATE TABLE "data_removals" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"requester" text NOT NULL,
	"requested_by" text NOT NULL,
	"reason" text,
	"removed" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"kept" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "feed_starts" (
	"project_id" text PRIMARY KEY NOT NULL,
	"position" bigint NOT NULL,
	"mark" jsonb NOT NULL,
	"moved_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "legal_holds" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"target" text NOT NULL,
	"reason" text NOT NULL,
	"put_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"lifted_at" timestamp (3) with time zone,
	"lifted_by" text
);
--> statement-breakpoint
CREATE TABLE "removed_blobs" (
	"key" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "removed_generations" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"agent_id" text NOT NULL,
	"requested_by" text NOT NULL,
	"status" text NOT NULL,
	"step_count" integer NOT NULL,
	"call_count" integer NOT NULL,
	"input_tokens" bigint DEFAULT 0 NOT NULL,
	"output_tokens" bigint DEFAULT 0 NOT NULL,
	"facts" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone NOT NULL,
	"removed_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "retentions" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"status" text DEFAULT 'IDLE' NOT NULL,
	"run_days" integer,
	"event_days" integer,
	"file_days" integer,
	"delivery_days" integer,
	"audit_days" integer,
	"last_removed" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"all_removed" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"last_started_at" timestamp (3) with time zone,
	"last_finished_at" timestamp (3) with time zone,
	"removed_until" timestamp (3) with time zone,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"wake_at" timestamp (3) with time zone,
	"epoch" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "files" ADD COLUMN "used_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "data_removals_list" ON "data_removals" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "data_removals_open" ON "data_removals" USING btree ("project_id","requester") WHERE finished_at is null;--> statement-breakpoint
CREATE INDEX "legal_holds_list" ON "legal_holds" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "legal_holds_open" ON "legal_holds" USING btree ("project_id","target") WHERE lifted_at is null;--> statement-breakpoint
CREATE INDEX "removed_blobs_list" ON "removed_blobs" USING btree ("project_id","key");--> statement-breakpoint
CREATE INDEX "removed_generations_list" ON "removed_generations" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "retentions_wake" ON "retentions" USING btree ("wake_at") WHERE wake_at is not null;