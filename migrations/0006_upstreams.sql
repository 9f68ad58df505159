CREATE TABLE "upstream_logins" (
	"state_hash" text PRIMARY KEY NOT NULL,
	"upstream_id" text NOT NULL,
	"project_id" text NOT NULL,
	"config_version" integer NOT NULL,
	"sealed" text NOT NULL,
	"started_by" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "upstream_tokens" (
	"upstream_id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"sealed" text,
	"expires_at" timestamp (3) with time zone,
	"client" text,
	"metadata_url" text,
	"version" integer DEFAULT 0 NOT NULL,
	"asked_until" timestamp (3) with time zone,
	"asker" integer DEFAULT 0 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "upstreams" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"config" jsonb NOT NULL,
	"config_version" integer DEFAULT 1 NOT NULL,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"verdict" jsonb,
	"verdict_at" timestamp (3) with time zone,
	"last_seen_at" timestamp (3) with time zone,
	"refreshed_at" timestamp (3) with time zone,
	"error" jsonb,
	"failures" integer DEFAULT 0 NOT NULL,
	"retry_at" timestamp (3) with time zone,
	"catalog" text,
	"catalog_hash" text,
	"listener" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"wake_at" timestamp (3) with time zone,
	"epoch" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX "upstream_logins_upstream" ON "upstream_logins" USING btree ("upstream_id");--> statement-breakpoint
CREATE INDEX "upstream_logins_expiry" ON "upstream_logins" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "upstreams_wake" ON "upstreams" USING btree ("wake_at") WHERE wake_at is not null;