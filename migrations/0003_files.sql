CREATE TABLE "files" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"filename" text NOT NULL,
	"content_type" text NOT NULL,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"size" bigint,
	"sha256" text,
	"created_by" text NOT NULL,
	"upload_until" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"uploaded_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "attachments" jsonb;--> statement-breakpoint
CREATE INDEX "files_list" ON "files" USING btree ("project_id","created_at","id");