CREATE TABLE "resource_subscriptions" (
	"thread_id" text NOT NULL,
	"uri" text NOT NULL,
	"project_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "resource_subscriptions_thread_id_uri_pk" PRIMARY KEY("thread_id","uri")
);
--> statement-breakpoint
CREATE INDEX "resource_subscriptions_expires" ON "resource_subscriptions" USING btree ("expires_at");