CREATE TABLE "session_log_levels" (
	"thread_id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"level" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "session_log_levels_expires" ON "session_log_levels" USING btree ("expires_at");
