ALTER TABLE "api_keys" ADD COLUMN "joined_by" text;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "account" text;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "person" text;
