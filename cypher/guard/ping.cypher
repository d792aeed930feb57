// ping.cypher: tests whether the server answers.
// Returns one row: answer INTEGER
RETURN 1 AS answer
