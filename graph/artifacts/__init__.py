"""What is fetched to run on: the jars of Neo4j, a Java, and the cache that keeps them.

Start at `jars.py`.
"""
