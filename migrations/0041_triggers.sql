CREATE TABLE "trigger_starts" (
	"project_id" text NOT NULL,
	"trigger_id" text NOT NULL,
	"key" text NOT NULL,
	"generation_id" text NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "trigger_starts_project_id_trigger_id_key_pk" PRIMARY KEY("project_id","trigger_id","key")
);
--> statement-breakpoint
CREATE TABLE "triggers" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"agent_id" text NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"status" text DEFAULT 'ENABLED' NOT NULL,
	"prompt" text NOT NULL,
	"cron" text,
	"time_zone" text,
	"secret" text,
	"previous_secret" text,
	"previous_until" timestamp (3) with time zone,
	"requested_by" text NOT NULL,
	"next_at" timestamp (3) with time zone,
	"last_run_id" text,
	"last_at" timestamp (3) with time zone,
	"last_error" text,
	"missed" integer DEFAULT 0 NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"wake_at" timestamp (3) with time zone,
	"epoch" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX "trigger_starts_old" ON "trigger_starts" USING btree ("at");--> statement-breakpoint
CREATE INDEX "triggers_list" ON "triggers" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "triggers_wake" ON "triggers" USING btree ("wake_at") WHERE wake_at is not null;