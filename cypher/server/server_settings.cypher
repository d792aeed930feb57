// server_settings.cypher: the settings of the server on which its speed and the meaning of a query depend.
// Returns one row per setting that this version has: name STRING, value STRING
SHOW SETTINGS 'server.memory.pagecache.size', 'db.query.default_language' YIELD name, value
RETURN name, value
