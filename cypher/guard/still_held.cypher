// still_held.cypher: fails where the transaction has been ended, so that its lock is lost. Run it in that transaction.
// Returns one row: held BOOLEAN
RETURN true AS held
