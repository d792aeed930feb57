-- views.sql: the tables of a snapshot as views with references in place of positions, for Spark and for DuckDB.
-- {schema} is the schema of the views. Its tables raw_* are the snapshot's files, with positions. The comment above a view
-- begins with `from` and the files that the view needs. {subject_types} and {user_types} are lists of the policy's types,
-- e.g. 'user', 'service_principal'. {each}({numbers}(a, b, step)) gives a row for every step-th number from a to b.

-- from objects: every object and subject; `name` is the last segment of the reference, unquoted
create or replace view {schema}.objects as
select named.ref, named.type,
  case when segment like '`%' then replace(substring(segment, 2, length(segment) - 2), '``', '`') else segment end as name,
  named.parent, named.exists, named.builtin, named.hidden, named.position, named.last
from (
  select o.ref, o.type, p.ref as parent, o.exists, o.builtin, o.hidden, o.position, o.last,
    case when o.type in ({subject_types}) then substring(o.ref, length(o.type) + 2)
      else regexp_extract(substring(o.ref, length(o.type) + 2), '(`(?:[^`]|``)*`|[^`.]*)$', 1) end as segment
  from {schema}.raw_objects o left join {schema}.raw_objects p on o.parent = p.position
) named;

-- from objects: users, service principals, groups and roles that answers can contain
create or replace view {schema}.subjects as
select o.ref, o.type, o.name, o.exists from {schema}.objects o where o.type in ({subject_types}) and not o.hidden;

-- from objects: the users and service principals that answers can contain
create or replace view {schema}.users as
select o.ref, o.type, o.name, o.position from {schema}.objects o where o.type in ({user_types}) and o.exists and not o.hidden;

-- from objects: every object with each place that contains it: the object itself, and all places above it
create or replace view {schema}.below as
select p.ref as place, p.type as place_type, o.ref as object, o.type as object_type, o.exists
from {schema}.raw_objects p, lateral {each}({numbers}(p.position, p.last, 1)) as inside(position)
join {schema}.raw_objects o on o.position = inside.position;

-- from objects, members: direct memberships
create or replace view {schema}.members as
select m.ref as member, m.type as member_type, c.ref as container, c.type as container_type, r.kind as relationship
from {schema}.raw_members r
join {schema}.raw_objects m on m.position = r.source
join {schema}.raw_objects c on c.position = r.target;

-- from objects, closure: every subject with each of its effective principals, itself included
create or replace view {schema}.effective as
select s.ref as subject, s.type as subject_type, p.ref as principal, p.type as principal_type
from {schema}.raw_closure c
join {schema}.raw_objects s on s.position = c.subject
join {schema}.raw_objects p on p.position = c.holder;

-- from objects, intervals: direct grants
create or replace view {schema}.grants as
select i.effect, i.privilege, p.ref as grantee, p.type as grantee_type, o.ref as object, o.type as object_type
from {schema}.raw_intervals i
join {schema}.raw_objects p on p.position = i.holder
join {schema}.raw_objects o on o.position = i.start
where i.effect in ('ALLOW', 'DENY') and i.privilege not like '%#%';

-- from objects, intervals: the tags of objects
create or replace view {schema}.tags as
select o.ref as object, o.type as object_type, t.ref as tag, t.type as tag_type
from {schema}.raw_intervals i
join {schema}.raw_objects t on t.position = i.holder
join {schema}.raw_objects o on o.position = i.start
where i.effect = 'TAGGED';

-- from objects, intervals: direct owners
create or replace view {schema}.owners as
select p.ref as owner, p.type as owner_type, o.ref as object, o.type as object_type
from {schema}.raw_intervals i
join {schema}.raw_objects p on p.position = i.holder
join {schema}.raw_objects o on o.position = i.start
where i.effect = 'OWNS';

-- from access/names: the privileges and operations whose access was computed, on each type
create or replace view {schema}.names as
select n.name, n.type from {schema}.raw_names n;

-- from objects, access/reach: the number of objects of the type on which a user can use the name; no row for 0
create or replace view {schema}.reach as
select s.ref as subject, r.name, r.type, r.objects
from {schema}.raw_reach r join {schema}.raw_objects s on s.position = r.subject
union all
select u.ref as subject, everyone.name, everyone.type, everyone.objects
from {schema}.raw_reach everyone cross join {schema}.users u
where everyone.subject = -1 and not exists (
  select 1 from {schema}.raw_reach own
  where own.subject = u.position and own.name = everyone.name and own.type = everyone.type
);

-- from objects, access/exposure: the number of users that can use the name on the object; no row for 0
create or replace view {schema}.exposure as
select o.ref as object, e.type, e.name, e.users
from {schema}.raw_exposure e join {schema}.raw_objects o on o.position = e.position;

-- from objects, access/reach, access/expand: each user, with each object on which it can use the name. Intervals and
-- objects are joined by blocks of 64 positions, because Spark joins equal numbers quickly.
create or replace view {schema}.expand as
select mine.subject, mine.name, o.ref as object, o.type
from (
  select s.ref as subject, e.name, e.type, e.start, e.last
  from {schema}.raw_expand e join {schema}.raw_objects s on s.position = e.subject
  union all
  select u.ref as subject, everyone.name, everyone.type, everyone.start, everyone.last
  from {schema}.raw_expand everyone cross join {schema}.users u
  where everyone.subject = -1 and not exists (
    select 1 from {schema}.raw_reach own
    where own.subject = u.position and own.name = everyone.name and own.type = everyone.type
  )
) mine, lateral {each}({numbers}(mine.start - mine.start % 64, mine.last, 64)) as block(begin)
join {schema}.raw_objects o on o.position - o.position % 64 = block.begin
where o.type = mine.type and o.position between mine.start and mine.last and o.exists and not o.hidden;
