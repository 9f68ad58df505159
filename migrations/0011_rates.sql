CREATE UNLOGGED TABLE "rate_buckets" (
	"name" text PRIMARY KEY NOT NULL,
	"tokens" double precision NOT NULL,
	"granted" double precision NOT NULL,
	"at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "rate_limits" (
	"project_id" text NOT NULL,
	"scope" text NOT NULL,
	"target_id" text NOT NULL,
	"per_minute" integer NOT NULL,
	"burst" integer NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "rate_limits_project_id_scope_target_id_pk" PRIMARY KEY("project_id","scope","target_id")
);
--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "not_before" timestamp (3) with time zone;