ALTER TABLE "generations" ADD COLUMN "parent_id" text;--> statement-breakpoint
ALTER TABLE "generations" ADD COLUMN "parent_call_id" text;--> statement-breakpoint
ALTER TABLE "generations" ADD COLUMN "root_id" text;--> statement-breakpoint
ALTER TABLE "generations" ADD COLUMN "depth" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "action" text;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "definition_hash" text;--> statement-breakpoint
ALTER TABLE "tool_calls" ADD COLUMN "child_id" text;--> statement-breakpoint
CREATE INDEX "generations_by_root" ON "generations" USING btree ("root_id","created_at","id") WHERE root_id is not null;--> statement-breakpoint
CREATE INDEX "generations_by_parent" ON "generations" USING btree ("parent_id") WHERE parent_id is not null;