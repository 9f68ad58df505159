ALTER TABLE "approvals" ADD COLUMN "search" tsvector;
