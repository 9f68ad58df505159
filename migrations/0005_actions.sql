ALTER TABLE "approvals" ADD COLUMN "action" text;--> statement-breakpoint
ALTER TABLE "approvals" ADD COLUMN "definition_hash" text;--> statement-breakpoint
ALTER TABLE "grants" ADD COLUMN "action" text;--> statement-breakpoint
ALTER TABLE "grants" ADD COLUMN "definition_hash" text;