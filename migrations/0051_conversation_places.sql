CREATE TABLE "conversation_places" (
	"project_id" text NOT NULL,
	"principal_id" text NOT NULL,
	"hash" text NOT NULL,
	"generation_id" text NOT NULL,
	"after" integer NOT NULL,
	"told_at" timestamp (3) with time zone,
	CONSTRAINT "conversation_places_pk" PRIMARY KEY("project_id","principal_id","hash")
);
--> statement-breakpoint
CREATE INDEX "conversation_places_of" ON "conversation_places" USING btree ("generation_id");