DROP INDEX "threads_list";--> statement-breakpoint
ALTER TABLE "threads" ADD COLUMN "external_id" text;--> statement-breakpoint
ALTER TABLE "threads" ADD COLUMN "messages" jsonb;--> statement-breakpoint
ALTER TABLE "threads" ADD COLUMN "created_by" text;--> statement-breakpoint
CREATE INDEX "threads_by_agent" ON "threads" USING btree ("agent_id","created_at","id");