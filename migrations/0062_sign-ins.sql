DROP INDEX "person_logins_of";--> statement-breakpoint
ALTER TABLE "person_logins" ADD COLUMN "actor" text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "person_logins_of" ON "person_logins" USING btree ("upstream_id","person","actor");