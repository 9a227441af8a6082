-- Two roles for one database: panapp_owner migrates, panapp_process is what the processes sign in as. The
-- latter may write rows, and neither change a table nor switch a trigger off: it cannot change append-only
-- tables (the log, releases, published recipes). Functions make and empty partitions for it, if their
-- conditions hold. Run by a superuser, with psql 15 or newer, in the database of the application, and safe to
-- run again: a new database gets the roles, existing tables get their owner. compose.yaml runs it when a
-- database is made; docs/operations/install.md describes how to run it on an existing one.
\set ON_ERROR_STOP on
\getenv owner_password POSTGRES_OWNER_PASSWORD
\getenv process_password POSTGRES_PROCESS_PASSWORD

BEGIN;

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'panapp_owner') THEN
        CREATE ROLE panapp_owner;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'panapp_process') THEN
        CREATE ROLE panapp_process;
    END IF;
END $$;
ALTER ROLE panapp_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
    PASSWORD :'owner_password';
ALTER ROLE panapp_process LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
    PASSWORD :'process_password';

-- A statement that fails holds identifiers of reports: it must not be in the database's log.
ALTER ROLE panapp_owner SET log_min_error_statement = panic;
ALTER ROLE panapp_owner SET log_error_verbosity = terse;
ALTER ROLE panapp_process SET log_min_error_statement = panic;
ALTER ROLE panapp_process SET log_error_verbosity = terse;

-- Existing tables are given to the owner, with their sequences.
DO $$
DECLARE
    name text;
BEGIN
    EXECUTE format('ALTER DATABASE %I OWNER TO panapp_owner', current_database());
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC, panapp_process', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO panapp_process', current_database());
    ALTER SCHEMA public OWNER TO panapp_owner;
    FOR name IN SELECT oid::regclass FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
    LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO panapp_owner', name);
    END LOOP;
    FOR name IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    LOOP
        EXECUTE format('ALTER ROUTINE %s OWNER TO panapp_owner', name);
    END LOOP;
END $$;

REVOKE ALL ON SCHEMA public FROM PUBLIC, panapp_process;
GRANT USAGE ON SCHEMA public TO panapp_process;
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, panapp_process;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO panapp_process;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO panapp_process;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO panapp_process;
-- And what later migrations make; they grant by themselves what functions need.
ALTER DEFAULT PRIVILEGES FOR ROLE panapp_owner IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO panapp_process;
ALTER DEFAULT PRIVILEGES FOR ROLE panapp_owner IN SCHEMA public
    GRANT USAGE, SELECT ON SEQUENCES TO panapp_process;

COMMIT;
