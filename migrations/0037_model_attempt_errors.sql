ALTER TABLE "model_attempts" ADD COLUMN "error_message" text;--> statement-breakpoint
ALTER TABLE "model_attempts" ADD COLUMN "http_status" integer;