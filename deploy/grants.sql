-- The role of the proxies: it uses the tables, and can neither change nor drop them.
SELECT 'CREATE ROLE proxy LOGIN' WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'proxy') \gexec
ALTER ROLE proxy PASSWORD :'password';
GRANT USAGE ON SCHEMA pleat TO proxy;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pleat TO proxy;
REVOKE INSERT, UPDATE, DELETE ON pleat.version FROM proxy;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA pleat TO proxy;
