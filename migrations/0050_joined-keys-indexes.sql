CREATE INDEX CONCURRENTLY IF NOT EXISTS "api_keys_account" ON "api_keys" USING btree ("account");--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "api_keys_person" ON "api_keys" USING btree ("person");
