ALTER TABLE "api_keys" ADD COLUMN "invited_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "invitation_tries" integer DEFAULT 0 NOT NULL;