"""Downloads that the embedded server and Spark need: the jars of Neo4j, a Java runtime, and their cache folder.

Start at `jars.py`.
"""
