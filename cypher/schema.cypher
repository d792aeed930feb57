// schema.cypher: the constraints and indexes of the graph, one statement each; runs as often as you like.
CREATE CONSTRAINT entity_ref IF NOT EXISTS FOR (entity:Entity) REQUIRE (entity.root, entity.ref) IS UNIQUE;
CREATE INDEX entity_type IF NOT EXISTS FOR (entity:Entity) ON (entity.root, entity.type, entity.ref);
CREATE CONSTRAINT revision_root IF NOT EXISTS FOR (revision:Revision) REQUIRE revision.root IS UNIQUE;
CREATE CONSTRAINT writer_root IF NOT EXISTS FOR (writer:Writer) REQUIRE writer.root IS UNIQUE;
CREATE CONSTRAINT change_id IF NOT EXISTS FOR (change:Change) REQUIRE (change.root, change.id) IS UNIQUE;
CREATE INDEX change_revision IF NOT EXISTS FOR (change:Change) ON (change.root, change.revision);
CREATE INDEX refusal_revision IF NOT EXISTS FOR (refusal:Refusal) ON (refusal.root, refusal.revision);
CREATE CONSTRAINT request_id IF NOT EXISTS FOR (request:Request) REQUIRE (request.root, request.id) IS UNIQUE;
