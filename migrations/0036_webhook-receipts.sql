CREATE TABLE "webhook_receipts" (
	"webhook_id" text NOT NULL,
	"slot" integer NOT NULL,
	"event_id" bigint NOT NULL,
	"type" text NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"answer" jsonb NOT NULL,
	CONSTRAINT "webhook_receipts_webhook_id_slot_pk" PRIMARY KEY("webhook_id","slot")
);
