CREATE TABLE "slack_integrations" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"team_id" text NOT NULL,
	"team_name" text NOT NULL,
	"bot_token" text NOT NULL,
	"signing_secret" text NOT NULL,
	"channel" text NOT NULL,
	"show_arguments" boolean DEFAULT false NOT NULL,
	"status" text DEFAULT 'IDLE' NOT NULL,
	"disabled_reason" text,
	"disabled_at" timestamp (3) with time zone,
	"fault" text,
	"at" bigint NOT NULL,
	"mark" jsonb,
	"failures" integer DEFAULT 0 NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"wake_at" timestamp (3) with time zone,
	"epoch" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "slack_messages" (
	"approval_id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"integration_id" text NOT NULL,
	"channel" text NOT NULL,
	"ts" text NOT NULL,
	"shown" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "slack_users" (
	"project_id" text NOT NULL,
	"slack_user_id" text NOT NULL,
	"principal_id" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "slack_users_project_id_slack_user_id_pk" PRIMARY KEY("project_id","slack_user_id")
);
--> statement-breakpoint
CREATE TABLE "verdict_tries" (
	"approval_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"principal_id" text NOT NULL,
	"project_id" text NOT NULL,
	"wrong" integer DEFAULT 0 NOT NULL,
	"used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "verdict_tries_approval_id_webhook_id_principal_id_pk" PRIMARY KEY("approval_id","webhook_id","principal_id")
);
--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "recipients" jsonb;--> statement-breakpoint
CREATE UNIQUE INDEX "slack_integrations_project" ON "slack_integrations" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "slack_integrations_wake" ON "slack_integrations" USING btree ("wake_at") WHERE wake_at is not null;--> statement-breakpoint
CREATE INDEX "slack_messages_integration" ON "slack_messages" USING btree ("integration_id");--> statement-breakpoint
CREATE INDEX "slack_messages_old" ON "slack_messages" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "verdict_tries_old" ON "verdict_tries" USING btree ("created_at");