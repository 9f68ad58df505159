ALTER TABLE "generations" ADD COLUMN "search" tsvector;
