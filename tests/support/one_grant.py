"""The smallest facts by which a user is allowed something: a grant to a role, and the user in it."""

FACTS = [
    "add catalog:hr",
    "add user:bob",
    "add role:analyst",
    "allow USE_CATALOG on catalog:hr to role:analyst",
    "member user:bob of role:analyst",
]
ALLOWED = ("user:bob", "USE_CATALOG", "catalog:hr")
