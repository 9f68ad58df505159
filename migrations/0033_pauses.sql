CREATE TABLE "pauses" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"target" text NOT NULL,
	"target_name" text NOT NULL,
	"reason" text,
	"paused_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"ended_by" text
);
--> statement-breakpoint
CREATE UNIQUE INDEX "pauses_open" ON "pauses" USING btree ("target") WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX "pauses_list" ON "pauses" USING btree ("project_id","created_at","id");