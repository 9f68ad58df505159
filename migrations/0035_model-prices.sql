CREATE TABLE "model_prices" (
	"project_id" text NOT NULL,
	"model" text NOT NULL,
	"input" double precision NOT NULL,
	"cached_input" double precision NOT NULL,
	"output" double precision NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "model_prices_project_id_model_pk" PRIMARY KEY("project_id","model")
);
--> statement-breakpoint
ALTER TABLE "generations" ADD COLUMN "cached_input_tokens" bigint DEFAULT 0 NOT NULL;