// ping.cypher: does the server answer?
// Returns one row: answer INTEGER
RETURN 1 AS answer
