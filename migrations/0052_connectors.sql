CREATE TABLE "connector_messages" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"connector" text NOT NULL,
	"message" text NOT NULL,
	"take_by" timestamp (3) with time zone NOT NULL,
	"taken_at" timestamp (3) with time zone,
	"taken_by" text,
	"answer" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connectors" (
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"instance" text NOT NULL,
	"connected_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "connectors_project_id_name_pk" PRIMARY KEY("project_id","name")
);
--> statement-breakpoint
CREATE INDEX "connector_messages_of" ON "connector_messages" USING btree ("project_id","connector","created_at");--> statement-breakpoint
CREATE INDEX "connector_messages_age" ON "connector_messages" USING btree ("created_at");