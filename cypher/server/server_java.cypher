// server_java.cypher: the Java on which the server runs, and the size of its heap. Needs the right to call dbms.queryJmx.
// Returns one row: java STRING (its version, e.g. 17), heap INTEGER (in bytes)
CALL dbms.queryJmx('java.lang:type=Runtime') YIELD attributes AS runtime
CALL dbms.queryJmx('java.lang:type=Memory') YIELD attributes AS memory
RETURN runtime.SpecVersion.value AS java, memory.HeapMemoryUsage.value.properties.max AS heap
