ALTER TABLE "threads" ALTER COLUMN "agent_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "threads" ADD COLUMN "waiting_messages" jsonb;--> statement-breakpoint
ALTER TABLE "threads" ADD COLUMN "waiting_id" text;--> statement-breakpoint
ALTER TABLE "threads" ADD COLUMN "waiting_since" timestamp (3) with time zone;