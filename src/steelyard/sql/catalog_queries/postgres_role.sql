-- Why a role may do more than read; no row where it only reads.
SELECT 'it is a superuser' FROM pg_catalog.pg_roles WHERE rolname = current_user AND rolsuper
UNION ALL SELECT 'it may create roles, databases or copies of the server' FROM pg_catalog.pg_roles
    WHERE rolname = current_user AND (rolcreaterole OR rolcreatedb OR rolreplication) AND NOT rolsuper
UNION ALL SELECT 'it is a member of ' || r.rolname FROM pg_catalog.pg_roles AS r
    WHERE r.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program',
        'pg_write_all_data', 'pg_signal_backend', 'pg_maintain', 'pg_checkpoint', 'pg_create_subscription',
        'pg_use_reserved_connections', 'pg_database_owner')
    AND pg_has_role(current_user, r.oid, 'MEMBER') AND NOT (SELECT rolsuper FROM pg_catalog.pg_roles
        WHERE rolname = current_user)
UNION ALL (SELECT 'it may become ' || r.rolname FROM pg_catalog.pg_roles AS r -- by SET ROLE; rights are not inherited
    WHERE r.rolname <> current_user AND pg_has_role(current_user, r.oid, 'MEMBER')
    AND (r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication
        OR NOT pg_has_role(current_user, r.oid, 'USAGE') AND (has_database_privilege(r.oid, current_database(), 'CREATE')
        OR EXISTS (SELECT FROM pg_catalog.pg_namespace AS n WHERE n.nspname NOT LIKE 'pg\_%'
            AND n.nspname <> coalesce(current_setting('steelyard.writes_to', true), '')
            AND (has_schema_privilege(r.oid, n.oid, 'CREATE') OR EXISTS (SELECT FROM pg_catalog.pg_class AS c
                WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.oid >= 16384
                AND (has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                    OR has_any_column_privilege(r.oid, c.oid, 'INSERT, UPDATE')))))))
    AND NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) ORDER BY r.oid LIMIT 3)
UNION ALL (SELECT 'it may write to ' || c.oid::regclass::text FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND n.nspname NOT LIKE 'pg\_t%' AND has_schema_privilege(n.oid, 'USAGE')
    AND n.nspname <> coalesce(current_setting('steelyard.writes_to', true), '')
    AND CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(c.oid, CASE
            WHEN coalesce(current_setting('steelyard.writes_to', true), '') = '' THEN 'UPDATE' ELSE 'USAGE, UPDATE' END)
        ELSE has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') OR (c.relkind IN ('r', 'p', 'f')
            AND has_any_column_privilege(c.oid, 'INSERT, UPDATE')) END ORDER BY c.oid LIMIT 3)
UNION ALL (SELECT 'it may create tables in the schema ' || nspname FROM pg_catalog.pg_namespace
    WHERE has_schema_privilege(oid, 'CREATE') AND nspname NOT LIKE 'pg\_t%'
    AND nspname <> coalesce(current_setting('steelyard.writes_to', true), '') ORDER BY oid LIMIT 3)
UNION ALL SELECT 'it may create schemas in this database'
    WHERE has_database_privilege(current_database(), 'CREATE')
UNION ALL (SELECT 'it may call ' || p.proname FROM pg_catalog.pg_proc AS p
    WHERE p.proname IN ('pg_read_file', 'pg_read_binary_file', 'pg_ls_dir', 'pg_stat_file', 'lo_import', 'lo_export',
        'pg_file_write', 'pg_reload_conf', 'pg_rotate_logfile', 'pg_promote', 'http_get', 'http_post')
    AND has_function_privilege(p.oid, 'EXECUTE') ORDER BY p.proname LIMIT 3)
UNION ALL SELECT 'it may use the foreign server ' || srvname FROM pg_catalog.pg_foreign_server
    WHERE has_server_privilege(oid, 'USAGE')
UNION ALL SELECT DISTINCT 'it may use the extension dblink' FROM pg_catalog.pg_proc
    WHERE proname = 'dblink_connect' AND has_function_privilege(oid, 'EXECUTE')
UNION ALL SELECT 'it may write functions in ' || lanname FROM pg_catalog.pg_language
    WHERE NOT lanpltrusted AND lanname NOT IN ('internal', 'c') AND has_language_privilege(oid, 'USAGE')
    AND NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)
