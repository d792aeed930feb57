"""The Spark session with GraphFrames, and a snapshot that is opened in it."""
