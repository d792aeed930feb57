// still_held.cypher: fails if its transaction was terminated, which means that the lock is lost.
// Returns one row: held BOOLEAN
RETURN true AS held
