CREATE TABLE "person_logins" (
	"id" text PRIMARY KEY NOT NULL,
	"upstream_id" text NOT NULL,
	"project_id" text NOT NULL,
	"person" text NOT NULL,
	"connected_at" timestamp (3) with time zone,
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
ALTER TABLE "upstream_logins" ADD COLUMN "person" text;--> statement-breakpoint
CREATE UNIQUE INDEX "person_logins_of" ON "person_logins" USING btree ("upstream_id","person");--> statement-breakpoint
CREATE INDEX "person_logins_person" ON "person_logins" USING btree ("person");