"""Small tenants in which some question depends on every fact, to detect broken queries."""

from dataclasses import dataclass, field

ROOT_NAME = "main"


@dataclass(frozen=True)
class Small:
    """A tenant of one policy, its questions, and a neighbour tenant with the same names in the same database.

    Each check has its answer, which the oracle must give, too. Two lists follow from each check: the users that may do
    it, and the objects on which the subject may do it. `unknown` are checks of missing entities.
    """

    facts: list[str]
    neighbour: list[str]
    checks: list[str]
    unknown: list[str] = field(default_factory=list)


CROWD = [f"allow SELECT_TABLE on table:c.s.busy to user:crowd{number}" for number in range(12)]

LAKEHOUSE = Small(
    facts=[
        *("add catalog:c", "add schema:c.s", "add schema:c.other", "add catalog:d", "add schema:d.s"),
        *("add table:c.s.t", "add table:c.s.u", "add table:c.s.busy", "add table:c.other.v", "add table:d.s.w"),
        *("add role:upper", "add role:lower", "add role:staff", "add role:banned", "add tag:x", "add tag:y"),
        *("add user:stranger", "add user:direct", "add user:grouped", "add user:hatted", "add user:mixed"),
        # direct grants; by a nested group; by a nested role; by a role of a nested group
        "allow SELECT_TABLE on table:c.s.t to user:direct",
        *("member user:grouped of group:in", "member group:in of group:out"),
        "allow SELECT_TABLE on table:c.s.t to group:out",
        *("member user:hatted of role:lower", "member role:lower of role:upper"),
        *("allow CREATE_TABLE on schema:c.s to user:hatted", "allow MODIFY_TABLE on table:c.s.u to user:hatted"),
        # two paths between two roles
        *("add role:wide", "member role:lower of role:wide", "member role:wide of role:upper"),
        "allow SELECT_TABLE on table:c.s.t to role:upper",
        *("member user:mixed of group:mixed", "member group:mixed of group:mixed-out"),
        *("member group:mixed-out of role:staff", "allow SELECT_TABLE on table:c.s.t to role:staff"),
        # two users have it by a role; a group's role denies it above to one of them
        *("member user:spared of role:lower", "member user:denied of role:lower", "member user:denied of group:bad"),
        *("member group:bad of role:banned", "deny SELECT_TABLE on schema:c.s to role:banned"),
        # a place with many grants and a subject with few holders, and the reverse
        *CROWD,
        "allow SELECT_TABLE on table:c.s.busy to user:direct",
        *(f"member user:joiner of group:many{number}" for number in range(6)),
        "allow SELECT_TABLE on table:c.s.u to group:many3",
        "deny MODIFY_TABLE on table:c.s.busy to user:direct",
        "allow MODIFY_TABLE on table:c.s.busy to user:direct",
        # many grants, one of them to a principal that is reached by two paths
        *(f"allow USE_SCHEMA on schema:c.other to user:crowd{number}" for number in range(20)),
        *("allow USE_SCHEMA on schema:c.other to group:top", "allow USE_SCHEMA on schema:c.other to role:upper"),
        *("allow CREATE_TABLE on schema:c.s to user:direct", "allow CREATE_SCHEMA on catalog:c to user:direct"),
        # two paths to one grant
        *("member user:diamond of group:left", "member user:diamond of group:right"),
        *("member group:left of group:top", "member group:right of group:top"),
        "allow CREATE_TABLE on schema:c.s to group:top",
        # a grant two levels above the object
        "allow SELECT_TABLE on catalog:d to user:tall",
        # a DENY below an ALLOW, and the reverse; also on the root
        *("allow SELECT_TABLE on schema:c.s to user:schemer", "deny SELECT_TABLE on table:c.s.t to user:schemer"),
        *("allow SELECT_TABLE on metalake:main to user:rooter", "deny SELECT_TABLE on schema:c.s to user:rooter"),
        *("allow MODIFY_TABLE on metalake:main to user:barred", "deny MODIFY_TABLE on metalake:main to user:barred"),
        # an operation with several terms, one of which has alternatives
        *("allow USE_CATALOG on metalake:main to group:visitors", "allow USE_SCHEMA on catalog:c to group:visitors"),
        *("member user:direct of group:visitors", "member user:owner of group:visitors"),
        *("member user:visitor of group:visitors", "owner user:owner of table:c.s.u"),
        *("owner group:landlords of schema:c.other", "member user:landlord of group:landlords"),
        *("member user:landlord of group:visitors", "owner user:owner of table:c.s.busy"),
        # second objects, held roles, a role named by the policy, the subject itself
        *("allow APPLY_TAG on tag:x to user:direct", "allow APPLY_TAG on tag:x to user:stranger"),
        "member user:admin of role:service_admin",
        # a dropped user that the operator's list still names
        *("member user:former of role:service_admin", "drop user:former"),
        "owner user:boss of metalake:main",
    ],
    neighbour=[
        *("add catalog:c", "add schema:c.s", "add table:c.s.t", "add table:c.s.u", "add table:c.s.elsewhere"),
        *("add role:lower", "add role:staff", "add user:elsewhere"),
        *("owner user:stranger of metalake:main", "allow SELECT_TABLE on metalake:main to user:stranger"),
        "member user:elsewhere of role:service_admin",
        *("member user:stranger of role:service_admin", "member user:stranger of role:lower"),
        "allow SELECT_TABLE on metalake:main to user:elsewhere",
        "deny SELECT_TABLE on table:c.s.t to user:direct",
    ],
    checks=[
        "user:direct can SELECT_TABLE on table:c.s.t",
        "user:denied cannot SELECT_TABLE on table:c.s.t",
        "user:spared can SELECT_TABLE on table:c.s.t",
        "user:grouped can SELECT_TABLE on table:c.s.t",
        "user:hatted can SELECT_TABLE on table:c.s.t",
        "user:mixed can SELECT_TABLE on table:c.s.t",
        "user:stranger cannot SELECT_TABLE on table:c.s.t",
        "user:tall can SELECT_TABLE on table:d.s.w",
        "user:schemer cannot SELECT_TABLE on table:c.s.t",
        "user:schemer can SELECT_TABLE on table:c.s.u",
        "user:rooter cannot SELECT_TABLE on table:c.s.u",
        "user:rooter can SELECT_TABLE on table:c.other.v",
        "user:barred cannot MODIFY_TABLE on table:c.s.u",
        "user:direct can SELECT_TABLE on table:c.s.busy",
        "user:direct cannot MODIFY_TABLE on table:c.s.busy",
        "user:joiner can SELECT_TABLE on table:c.s.u",
        "user:stranger cannot CREATE_TABLE on schema:c.s",
        "user:direct can load_table on table:c.s.t",
        "user:spared cannot load_table on table:c.s.t",
        "user:direct can create_schema on catalog:c",
        "user:visitor cannot load_table on table:c.s.u",
        "user:owner can load_table on table:c.s.u",
        "user:landlord can drop_schema on schema:c.other",
        "user:boss can drop_table on table:d.s.w",
        "user:direct can get_tag_for_object on table:c.s.t with tag=tag:x",
        "user:direct cannot get_tag_for_object on table:c.s.t with tag=tag:y",
        "user:stranger cannot get_tag_for_object on table:c.s.t with tag=tag:x",
        "user:hatted can get_role on role:upper",
        "user:grouped cannot get_role on role:upper",
        "user:grouped can get_group on group:out",
        "user:grouped can get_user on user:grouped",
        "user:hatted cannot get_user on user:grouped",
        "user:stranger can list_catalog on metalake:main",
        "user:elsewhere cannot list_catalog on metalake:main",
        "user:admin can create_metalake on metalake:main",
        "user:former cannot create_metalake on metalake:main",
        "user:elsewhere cannot create_metalake on metalake:main",
        "user:stranger cannot create_metalake on metalake:main",
    ],
    unknown=["user:direct can SELECT_TABLE on table:c.s.elsewhere"],
)

DELTASTREAM = Small(
    facts=[
        *("add database:d", "add schema:d.s", "add relation:d.s.r", "add relation:d.s.q", "add store:st"),
        *("add role:one", "add role:two", "add role:three", "add role:base", "add role:loose"),
        *("add user:u", "add user:split", "add user:deep", "add user:idle"),
        # one role that has everything, through a nested role; two roles that have it only together, which does not
        # suffice
        *(f"allow USAGE on {place} to role:base" for place in ("database:d", "schema:d.s")),
        *("allow SELECT on relation:d.s.r to role:one", "allow CREATE_QUERY on organization:main to role:one"),
        *("member role:one of role:base", "member user:u of role:one", "member user:u of role:three"),
        *("member user:deep of role:loose", "member role:loose of role:one"),
        "allow SELECT on relation:d.s.r to role:two",
        "allow CREATE_QUERY on organization:main to role:two",
        *("member user:split of role:two", "member user:split of role:base"),
        # the owner of a relation and of a role; ownership can only be transferred to a held role
        *("owner role:one of relation:d.s.r", "owner role:one of role:three", "owner role:loose of role:base"),
        *("owner role:base of relation:d.s.q", "allow USAGE on store:st to role:base"),
        *("allow CREATE on schema:d.s to role:one", "allow USAGE on role:two to role:three"),
        *("member user:lead of role:USERADMIN", "member user:chief of role:ORGADMIN"),
    ],
    neighbour=[
        *("add database:d", "add schema:d.s", "add relation:d.s.r", "add role:one", "add role:base", "add role:two"),
        *("add user:idle", "member user:idle of role:ORGADMIN", "add user:far", "owner role:one of relation:d.s.r"),
        *("member user:far of role:one", "allow USAGE on database:d to role:one", "add role:elsewhere"),
        "member user:u of role:ORGADMIN",
    ],
    checks=[
        "user:u can select_from_relation on relation:d.s.r",
        "user:split cannot select_from_relation on relation:d.s.r",
        "user:deep can select_from_relation on relation:d.s.r",
        "user:idle cannot select_from_relation on relation:d.s.r",
        "user:u as role:one can select_from_relation on relation:d.s.r",
        "user:u as role:three cannot select_from_relation on relation:d.s.r",
        "user:u as role:base can use_schema on schema:d.s",
        "user:u as role:two cannot use_schema on schema:d.s",
        "user:u as role:loose cannot use_database on database:d",
        "role:one can select_from_relation on relation:d.s.r",
        "role:base cannot select_from_relation on relation:d.s.r",
        "user:u can use_role on role:base",
        "user:u cannot use_role on role:two",
        "user:u as role:one can use_role on role:three",
        "user:u as role:two cannot use_role on role:three",
        "user:deep can list_roles on role:base",
        "user:idle cannot list_roles on role:base",
        "user:u can list_roles on role:two",
        "user:u can grant_ownership on relation:d.s.r with role=role:base",
        "user:u cannot grant_ownership on relation:d.s.r with role=role:three",
        "user:u can create_stream on schema:d.s with store=store:st",
        "user:lead can drop_role on role:two",
        "user:lead cannot drop_role on role:PUBLIC",
        "user:chief cannot drop_role on role:SYSADMIN",
        "user:u can can_i on organization:main",
        "user:nobody cannot can_i on organization:main",
        "user:far cannot use_database on database:d",
        "user:chief can grant_privileges on database:d",
        "user:idle cannot list_roles on role:PUBLIC",
    ],
    unknown=[
        "user:u as role:elsewhere can use_database on database:d",
        "user:u as role:x can can_i on organization:main",
    ],
)

CDAP = Small(
    facts=[
        *("add namespace:n", "add namespace:bare", "add application:n.a", "add program:n.a.p", "add stream:n.s"),
        *("add dataset:n.d", "add namespace:half", "add dataset:half.one", "add dataset:half.two", "add user:none"),
        *("add kerberos_principal:kp", "add role:reader", "add role:lower"),
        # a deep descendant makes a namespace visible; missing entities and other branches do not count
        "allow READ on program:n.a.p to user:deep",
        *("member user:member of group:deep", "allow WRITE on stream:n.s to group:deep"),
        *("allow READ on dataset:n.missing to user:early", "allow READ on dataset:n.d to user:early"),
        "allow ADMIN on dataset:half.missing to user:early",
        # ADMIN on all existing entities, but not on names; on a part; on a wrong type; of another user
        *(
            f"allow ADMIN on {place} to user:all"
            for place in ("namespace:half", "dataset:half.one", "dataset:half.two")
        ),
        *("allow ADMIN on namespace:half to user:part", "allow ADMIN on dataset:half.one to user:part"),
        *("allow ADMIN on namespace:half to user:reads", "allow ADMIN on dataset:half.one to user:reads"),
        "allow READ on dataset:half.two to user:reads",
        *("allow ADMIN on namespace:half to group:all", "allow ADMIN on dataset:half.one to group:all"),
        *("member user:joint of group:all", "allow ADMIN on dataset:half.two to user:joint"),
        *("member user:nested of group:inner", "member group:inner of group:all"),
        *("allow ADMIN on dataset:half.two to user:nested", "member user:byrole of role:reader"),
        *("allow ADMIN on namespace:half to role:reader", "allow ADMIN on dataset:half.one to role:reader"),
        "allow ADMIN on dataset:half.two to user:byrole",
        *("allow ADMIN on namespace:n to user:app", "allow ADMIN on application:n.a to user:app"),
        *("allow ADMIN on program:n.a.p to user:app", "allow ADMIN on kerberos_principal:kp to user:app"),
        "allow ADMIN on kerberos_principal:ghost to user:app",
        *("add namespace:tall", "add application:tall.a", "add program:tall.a.p"),
        *("allow ADMIN on namespace:tall to user:shallow", "allow ADMIN on application:tall.a to user:shallow"),
    ],
    neighbour=[
        *("add namespace:n", "add namespace:half", "add dataset:n.d", "add dataset:n.missing", "add user:none"),
        *("allow READ on dataset:n.d to user:none", "add user:far", "allow ADMIN on namespace:half to user:far"),
        *(
            "allow READ on dataset:half.one to user:far",
            "add namespace:empty",
            "allow ADMIN on namespace:empty to user:all",
        ),
        "allow ADMIN on namespace:empty to user:none",
    ],
    checks=[
        "user:early can get_dataset on dataset:n.d",
        "user:early cannot get_dataset on dataset:n.missing",
        "user:early can READ on dataset:n.missing",
        "user:deep can get_namespace on namespace:n",
        "user:deep can get_application on application:n.a",
        "user:deep cannot get_namespace on namespace:bare",
        "user:early can get_namespace on namespace:half",
        "user:member can get_namespace on namespace:n",
        "user:none cannot get_namespace on namespace:n",
        "user:none cannot get_namespace on namespace:half",
        "user:all can delete_namespace on namespace:half",
        "user:part cannot delete_namespace on namespace:half",
        "user:reads cannot delete_namespace on namespace:half",
        "user:joint can delete_namespace on namespace:half",
        "user:nested can delete_namespace on namespace:half",
        "user:byrole can delete_namespace on namespace:half",
        "user:shallow cannot delete_namespace on namespace:tall",
        "user:part can drop_all_streams on namespace:half",
        "user:none can drop_all_streams on namespace:bare",
        "user:none cannot drop_all_streams on namespace:n",
        "user:app can delete_application on application:n.a",
        "user:app cannot delete_namespace on namespace:n",
        "user:all cannot delete_namespace on namespace:bare",
        "user:app can create_namespace on namespace:n with principal=kerberos_principal:kp",
        "user:all cannot create_namespace on namespace:half with principal=kerberos_principal:kp",
    ],
    unknown=["user:app can create_namespace on namespace:n with principal=kerberos_principal:ghost"],
)

CDAP_DESIGN = Small(
    facts=["add namespace:n", "add namespace:m", "add user:none", "allow READ on namespace:n to user:reads"],
    neighbour=["add namespace:n", "add namespace:far", "add user:far"],
    checks=[
        "user:none can list_namespace on namespace:n",
        "user:far cannot list_namespace on namespace:n",
        "user:reads can get_namespace on namespace:n",
        "user:reads cannot get_namespace on namespace:m",
    ],
)

WORLDS = {"lakehouse": LAKEHOUSE, "deltastream": DELTASTREAM, "cdap": CDAP, "cdap_design": CDAP_DESIGN}
