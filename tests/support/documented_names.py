"""What stands in the tables of the documented systems' sheets, as plain lists: the policies are compared with them.

An operation is followed by its second objects, `+key` or, where it may be left out, `+key?`.
"""

OPERATIONS: dict[str, dict[str, str]] = {
    "gravitino": {
        "metalake": """
            create_metalake load_metalake alter_metalake drop_metalake create_catalog list_catalog add_user
            list_users add_group list_groups create_role list_roles grant_role revoke_role list_tags create_tag
            list_policies create_policy list_job_templates register_job_template list_jobs
            """,
        "catalog": """
            alter_catalog drop_catalog load_catalog create_schema list_schema
            """,
        "schema": """
            alter_schema drop_schema load_schema create_table list_table create_topic list_topic create_fileset
            list_fileset register_model list_model
            """,
        "table": """
            alter_table update_table_statistics drop_table_statistics update_table_partition_statistics
            drop_table_partition_statistics drop_table load_table list_table_statistics
            list_table_partition_statistics
            """,
        "topic": """
            alter_topic drop_topic load_topic
            """,
        "fileset": """
            alter_fileset drop_fileset load_fileset list_files
            """,
        "model": """
            link_model_version alter_model drop_model load_model list_model_version load_model_version
            load_model_version_by_alias delete_model_version alter_model_version delete_model_version_alias
            """,
        "user": """
            remove_user get_user
            """,
        "group": """
            remove_group get_group change_group_members
            """,
        "role": """
            delete_role get_role
            """,
        "metalake catalog schema table topic fileset model role tag policy job_template job": """
            grant_privilege revoke_privilege set_owner get_owner list_roles_for_object
            """,
        "tag": """
            get_tag alter_tag delete_tag list_objects_for_tag
            """,
        "catalog schema table topic fileset model": """
            list_tags_for_object get_tag_for_object+tag associate_object_tags+tag associate_object_policies+policy
            list_policies_for_object get_policy_for_object+policy get_credential
            """,
        "policy": """
            get_policy alter_policy set_policy delete_policy list_objects_for_policy
            """,
        "job_template": """
            get_job_template delete_job_template alter_job_template run_job
            """,
        "job": """
            get_job cancel_job
            """,
    },
    "deltastream": {
        "organization": """
            can_i invite_user list_invitations revoke_invitation create_role create_database create_query
            create_store create_schema_registry create_descriptor_source create_function_source
            """,
        "user": """
            list_users describe_user drop_user
            """,
        "role": """
            list_roles describe_role use_role grant_role revoke_role drop_role
            """,
        "organization database schema relation store schema_registry descriptor_source function_source function"
        " query role": """
            grant_privileges revoke_privileges
            """,
        "database schema relation store schema_registry descriptor_source function_source function query role": """
            grant_ownership+role
            """,
        "database": """
            use_database list_databases drop_database create_schema
            """,
        "schema": """
            use_schema list_schemas drop_schema create_relation create_stream+store create_changelog+store
            create_table+store create_stream_as_select+source create_changelog_as_select+source
            create_table_as_select+source create_materialized_view_as+source
            """,
        "relation": """
            list_relations describe_relation describe_relation_columns create_index drop_relation drop_stream
            drop_changelog select_from_relation insert_into_relation+source
            """,
        "query": """
            list_queries describe_query describe_query_metrics describe_query_events describe_query_state
            terminate_query restart_query resume_query
            """,
        "store": """
            use_store list_stores describe_store update_store drop_store list_entities describe_entity print_entity
            generate_columns create_entity update_entity drop_entity
            """,
        "schema_registry": """
            list_schema_registries update_schema_registry drop_schema_registry
            """,
        "descriptor_source": """
            list_descriptor_sources list_descriptors copy_descriptor_source drop_descriptor_source
            """,
        "function_source": """
            list_function_sources copy_function_source drop_function_source create_function
            """,
        "function": """
            use_function list_functions drop_function
            """,
    },
    "onehouse": {
        "account": """
            modify_account_settings modify_billing_settings create_project create_group create_service_principal
            configure_scim
            """,
        "project": """
            open_project view_project_integrations view_project_usage create_source create_catalog
            create_job+cluster create_user add_user_to_project edit_user_permissions remove_user
            connect_cloud_account create_cluster create_lake create_project_integration edit_project_integration
            create_api_token delete_api_token
            """,
        "group": """
            view_group_metadata assign_roles_and_privileges_to_group remove_roles_and_privileges_from_group
            edit_group_members edit_group_name delete_group
            """,
        "service_principal": """
            assign_roles_and_privileges_to_service_principal remove_roles_and_privileges_from_service_principal
            edit_service_principal_members edit_service_principal_name delete_service_principal
            create_service_principal_api_token
            """,
        "cluster": """
            view_cluster_definition assign_stream_capture_to_cluster assign_job_to_cluster view_cluster_endpoint
            edit_cluster_definition modify_cluster_permissions delete_cluster view_notifications
            dismiss_notifications
            """,
        "source": """
            view_source_definition use_source_in_stream_capture edit_source_definition modify_source_permissions
            delete_source view_notifications dismiss_notifications
            """,
        "catalog": """
            view_catalog_definition use_catalog_in_stream_capture use_catalog_in_metasync edit_catalog_definition
            modify_catalog_permissions delete_catalog view_notifications dismiss_notifications
            """,
        "job": """
            view_job_definition view_job_run_metadata view_job_run_driver_logs view_job_spark_ui trigger_job_run
            cancel_job_run edit_job_definition modify_job_permissions delete_job view_notifications
            dismiss_notifications
            """,
        "database": """
            create_stream_capture+cluster drop_database describe_database create_table
            """,
        "stream_capture": """
            view_stream_capture_definition view_stream_capture_driver_logs edit_stream_capture_definition
            pause_stream_capture resume_stream_capture clean_and_restart_stream_capture delete_stream_capture
            modify_stream_capture_permissions view_notifications dismiss_notifications
            """,
        "lake database table": """
            grant_privilege revoke_privilege view_notifications dismiss_notifications
            """,
        "lake": """
            drop_lake describe_lake create_database
            """,
        "table": """
            drop_table describe_table alter_table change_services_cluster read_table_data insert_table_data
            update_table_data create_savepoint restore_savepoint delete_table_data create_compaction+cluster
            edit_compaction+cluster remove_compaction+cluster pause_compaction+cluster resume_compaction+cluster
            create_clustering+cluster edit_clustering+cluster remove_clustering+cluster pause_clustering+cluster
            resume_clustering+cluster create_cleaning+cluster edit_cleaning+cluster remove_cleaning+cluster
            pause_cleaning+cluster resume_cleaning+cluster create_metasync+cluster edit_metasync+cluster
            remove_metasync+cluster pause_metasync+cluster resume_metasync+cluster view_table_service_definition
            view_table_service_metrics view_table_service_run_history
            """,
    },
    "cdap": {
        "namespace": """
            create_namespace+principal? update_namespace delete_namespace list_namespace view_namespace
            get_namespace drop_all_streams
            """,
        "artifact": """
            add_artifact add_artifact_property remove_artifact_property delete_artifact list_artifact view_artifact
            get_artifact
            """,
        "application": """
            deploy_application+principal?+artifact? update_application delete_application list_application
            view_application get_application
            """,
        "program": """
            create_program start_program stop_program debug_program set_program_instances set_program_runtime_args
            get_program_status delete_program list_program view_program get_program
            """,
        "dataset": """
            create_dataset+principal? read_dataset write_dataset update_dataset upgrade_dataset truncate_dataset
            drop_dataset list_dataset view_dataset get_dataset
            """,
        "stream": """
            create_stream+principal? retrieve_events send_events_sync send_events_async send_events_batch
            drop_stream update_stream truncate_stream list_stream view_stream get_stream
            """,
        "secure_key": """
            create_secure_key read_secure_data delete_secure_key list_secure_key view_secure_key
            """,
        "kerberos_principal": """
            create_kerberos_principal delete_kerberos_principal
            """,
    },
    "cdap_design": {
        "instance": """
            create_namespace
            """,
        "namespace": """
            update_namespace list_namespace get_namespace delete_namespace set_namespace_preference
            get_namespace_preference search_namespace add_artifact deploy_application+artifact? create_stream
            create_dataset
            """,
        "artifact": """
            delete_artifact get_artifact list_artifact write_artifact_property delete_artifact_property
            get_artifact_property write_artifact_metadata read_artifact_metadata
            """,
        "application": """
            get_application list_application update_application delete_application set_application_preference
            get_application_preference add_application_metadata get_application_metadata create_program
            """,
        "program": """
            start_program stop_program debug_program set_program_instances list_program set_program_runtime_args
            get_program_runtime_args get_program_instances set_program_preference get_program_preference
            get_program_status get_program_history add_program_metadata get_program_metadata emit_program_logs
            view_program_logs emit_program_metrics view_program_metrics delete_program
            """,
        "stream": """
            update_stream_properties delete_stream truncate_stream enqueue_stream async_enqueue_stream batch_stream
            get_stream list_stream read_stream_events set_stream_preferences get_stream_preferences
            add_stream_metadata get_stream_metadata view_stream_lineage emit_stream_metrics view_stream_metrics
            """,
        "dataset": """
            get_dataset list_dataset update_dataset drop_dataset truncate_dataset upgrade_dataset
            add_dataset_metadata get_dataset_metadata view_dataset_lineage emit_dataset_metrics view_dataset_metrics
            """,
    },
}

# Types by their parent.
TYPES: dict[str, dict[str, str]] = {
    "gravitino": {
        "metalake": "catalog role tag policy job_template user group",
        "catalog": "schema",
        "schema": "table topic fileset model",
        "job_template": "job",
    },
    "deltastream": {
        "organization": "database store schema_registry descriptor_source function_source query role user",
        "database": "schema",
        "schema": "relation",
        "function_source": "function",
    },
    "onehouse": {
        "account": "project group service_principal user",
        "project": "cluster source catalog job stream_capture lake",
        "lake": "database",
        "database": "table",
    },
    "cdap": {
        "instance": "namespace kerberos_principal user group role",
        "namespace": "artifact application dataset stream secure_key",
        "application": "program",
    },
    "cdap_design": {
        "instance": "namespace user group role",
        "namespace": "artifact application stream dataset",
        "application": "program",
    },
}

# Privileges and resource roles by the types they can be granted on; behind `>`, the types they are in effect on.
PRIVILEGES: dict[str, dict[str, str]] = {
    "gravitino": {
        "metalake": """
            MANAGE_USERS MANAGE_GROUPS CREATE_ROLE MANAGE_GRANTS CREATE_CATALOG CREATE_TAG CREATE_POLICY
            REGISTER_JOB_TEMPLATE RUN_JOB
            """,
        "metalake catalog": "USE_CATALOG CREATE_SCHEMA",
        "metalake catalog schema": """
            USE_SCHEMA CREATE_TABLE CREATE_TOPIC CREATE_FILESET REGISTER_MODEL CREATE_MODEL
            """,
        "metalake catalog schema table": "MODIFY_TABLE SELECT_TABLE",
        "metalake catalog schema topic": "PRODUCE_TOPIC CONSUME_TOPIC",
        "metalake catalog schema fileset": "WRITE_FILESET READ_FILESET",
        "metalake catalog schema model": "LINK_MODEL_VERSION USE_MODEL CREATE_MODEL_VERSION",
        "metalake tag": "APPLY_TAG",
        "metalake policy": "APPLY_POLICY",
        "metalake job_template": "USE_JOB_TEMPLATE",
    },
    "deltastream": {
        "organization": """
            CREATE_DATABASE CREATE_STORE CREATE_SCHEMA_REGISTRY CREATE_DESCRIPTOR_SOURCE CREATE_FUNCTION_SOURCE
            CREATE_FUNCTION CREATE_QUERY MANAGE_MEMBERS MANAGE_GRANTS
            """,
        "organization database schema relation store schema_registry descriptor_source function_source function"
        " query role": "USAGE",
        "database schema": "CREATE",
        "relation": "SELECT INSERT",
        "> organization database schema relation store schema_registry descriptor_source function_source function"
        " query role": "OWNERSHIP",
    },
    "onehouse": {
        "account": "ACCOUNT_MEMBER ACCOUNT_ADMIN",
        "project": "PROJECT_MEMBER PROJECT_ADMIN",
        "group": "GROUP_MEMBER GROUP_MANAGER",
        "service_principal": "SERVICE_PRINCIPAL_USER SERVICE_PRINCIPAL_MANAGER",
        "cluster": "CLUSTER_VIEWER CLUSTER_USER CLUSTER_EDITOR CLUSTER_MANAGER",
        "source": "SOURCE_VIEWER SOURCE_USER SOURCE_EDITOR SOURCE_MANAGER",
        "catalog": "CATALOG_VIEWER CATALOG_USER CATALOG_EDITOR CATALOG_MANAGER",
        "job": "JOB_VIEWER JOB_USER JOB_EDITOR JOB_MANAGER",
        "stream_capture": "STREAM_CAPTURE_VIEWER STREAM_CAPTURE_EDITOR STREAM_CAPTURE_MANAGER",
        "lake database table": "ALL MANAGE DROP DESCRIBE",
        "lake": "CREATE_DATABASE",
        "lake database > database": "CREATE_TABLE",
        "lake database table > table": "ALTER SELECT INSERT DELETE",
    },
    "cdap": {
        "namespace artifact application program dataset stream secure_key kerberos_principal": "READ WRITE EXECUTE",
        "instance namespace artifact application program dataset stream secure_key kerberos_principal": "ADMIN",
    },
    "cdap_design": {
        "instance namespace artifact application program stream dataset": "READ WRITE EXECUTE ADMIN ALL",
    },
}

# Which privileges come with which: the highest of a ladder, ALL.
IMPLIED: dict[str, dict[str, str]] = {
    "gravitino": {},
    "deltastream": {},
    "onehouse": {
        "ACCOUNT_ADMIN": "ACCOUNT_MEMBER",
        "PROJECT_ADMIN": "PROJECT_MEMBER",
        "GROUP_MANAGER": "GROUP_MEMBER",
        "SERVICE_PRINCIPAL_MANAGER": "SERVICE_PRINCIPAL_USER",
        "CLUSTER_USER": "CLUSTER_VIEWER",
        "CLUSTER_EDITOR": "CLUSTER_VIEWER CLUSTER_USER",
        "CLUSTER_MANAGER": "CLUSTER_VIEWER CLUSTER_USER CLUSTER_EDITOR",
        "SOURCE_USER": "SOURCE_VIEWER",
        "SOURCE_EDITOR": "SOURCE_VIEWER SOURCE_USER",
        "SOURCE_MANAGER": "SOURCE_VIEWER SOURCE_USER SOURCE_EDITOR",
        "CATALOG_USER": "CATALOG_VIEWER",
        "CATALOG_EDITOR": "CATALOG_VIEWER CATALOG_USER",
        "CATALOG_MANAGER": "CATALOG_VIEWER CATALOG_USER CATALOG_EDITOR",
        "JOB_USER": "JOB_VIEWER",
        "JOB_EDITOR": "JOB_VIEWER JOB_USER",
        "JOB_MANAGER": "JOB_VIEWER JOB_USER JOB_EDITOR",
        "STREAM_CAPTURE_EDITOR": "STREAM_CAPTURE_VIEWER",
        "STREAM_CAPTURE_MANAGER": "STREAM_CAPTURE_VIEWER STREAM_CAPTURE_EDITOR",
        "ALL": "MANAGE DROP DESCRIBE CREATE_DATABASE CREATE_TABLE ALTER SELECT INSERT DELETE",
    },
    "cdap": {},
    "cdap_design": {"ALL": "READ WRITE EXECUTE ADMIN"},
}
