ALTER TABLE "generations" ADD COLUMN "retry_of_id" text;--> statement-breakpoint
ALTER TABLE "generations" ADD COLUMN "retry_step" integer;