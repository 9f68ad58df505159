ALTER TABLE "webhooks" ADD COLUMN "down_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "dead_told_at" timestamp (3) with time zone;