CREATE TABLE "key_uses" (
	"key_id" text PRIMARY KEY NOT NULL,
	"used_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "approvals" ADD COLUMN "claim" jsonb;--> statement-breakpoint
ALTER TABLE "upstream_tokens" ADD COLUMN "connected_by" text;--> statement-breakpoint
ALTER TABLE "upstream_tokens" ADD COLUMN "connected_at" timestamp (3) with time zone;