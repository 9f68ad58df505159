CREATE TABLE "sessions" (
	"id" text PRIMARY KEY NOT NULL,
	"project_id" text NOT NULL,
	"hash" text NOT NULL,
	"principal_id" text NOT NULL,
	"method" text NOT NULL,
	"role" text,
	"remote_address" text,
	"user_agent" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"used_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "sessions_hash" ON "sessions" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "sessions_list" ON "sessions" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "sessions_of" ON "sessions" USING btree ("principal_id","used_at");--> statement-breakpoint
CREATE INDEX "sessions_expiry" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
UPDATE "api_keys" SET "policy" = jsonb_set("policy", '{statement}', ("policy" -> 'statement') || '[{"effect":"Allow","action":["sessions:Start"],"resource":["*"]}]'::jsonb) WHERE "role" IN ('developer', 'approver', 'caller', 'viewer');
