CREATE TABLE "webhook_cursors" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"status" text DEFAULT 'IDLE' NOT NULL,
	"generation_id" text,
	"tool_call_id" text,
	"types" jsonb,
	"at" bigint NOT NULL,
	"mark" jsonb,
	"until" bigint,
	"failures" integer DEFAULT 0 NOT NULL,
	"asked" integer DEFAULT 0 NOT NULL,
	"delivered" bigint DEFAULT 0 NOT NULL,
	"last_delivered_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"wake_at" timestamp (3) with time zone,
	"epoch" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"cursor_id" text NOT NULL,
	"event_id" bigint NOT NULL,
	"type" text NOT NULL,
	"status" text NOT NULL,
	"tries" integer NOT NULL,
	"attempts" integer NOT NULL,
	"answers" jsonb NOT NULL,
	"next_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"url" text NOT NULL,
	"description" text,
	"types" jsonb,
	"full" boolean DEFAULT false NOT NULL,
	"ordered" boolean DEFAULT false NOT NULL,
	"secret" text NOT NULL,
	"previous_secret" text,
	"previous_until" timestamp (3) with time zone,
	"status" text DEFAULT 'ENABLED' NOT NULL,
	"disabled_reason" text,
	"disabled_at" timestamp (3) with time zone,
	"failing_since" timestamp (3) with time zone,
	"callback_of" text,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "webhook_cursors_wake" ON "webhook_cursors" USING btree ("wake_at") WHERE wake_at is not null;--> statement-breakpoint
CREATE INDEX "webhook_cursors_webhook" ON "webhook_cursors" USING btree ("webhook_id");--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_deliveries_event" ON "webhook_deliveries" USING btree ("webhook_id","event_id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_list" ON "webhook_deliveries" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" USING btree ("cursor_id","next_at") WHERE next_at is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_old" ON "webhook_deliveries" USING btree ("updated_at");--> statement-breakpoint
CREATE INDEX "webhooks_list" ON "webhooks" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "webhooks_callback" ON "webhooks" USING btree ("callback_of") WHERE callback_of is not null;