CREATE TABLE "blob_writes" (
	"key" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"file_id" text NOT NULL,
	"size" bigint DEFAULT 0 NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"taken_until" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "files" ADD COLUMN "blob_key" text;--> statement-breakpoint
ALTER TABLE "files" ADD COLUMN "etag" text;--> statement-breakpoint
CREATE INDEX "blob_writes_due" ON "blob_writes" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "blob_writes_project" ON "blob_writes" USING btree ("project_id");