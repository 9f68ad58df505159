CREATE TABLE "awaited_requests" (
	"project_id" text NOT NULL,
	"principal_id" text NOT NULL,
	"operation" text NOT NULL,
	"request_hash" text NOT NULL,
	"generation_id" text NOT NULL,
	"delivered" boolean DEFAULT false NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "awaited_requests_pk" PRIMARY KEY("project_id","principal_id","operation","request_hash")
);
--> statement-breakpoint
CREATE INDEX "awaited_requests_of" ON "awaited_requests" USING btree ("generation_id");--> statement-breakpoint
CREATE INDEX "awaited_requests_expiry" ON "awaited_requests" USING btree ("expires_at");