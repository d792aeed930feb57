"""Random policies that switch the keys of the policy language on, and random facts for them."""

import random
from typing import Any

from ..oracle.language import World, type_of

ROOT = "site:ml"
FOLDERS, PAGES = ["folder:a", "folder:b"], ["page:a.x", "page:a.y", "page:b.x"]
LATER, LATER_FOLDER = "page:b.later", "folder:later"  # they do not exist
PEOPLE, TEAMS, CREWS = ["user:ann", "user:bob", "robot:r"], ["team:in", "team:out"], ["crew:one", "crew:two"]
LABELS = ["label:l", "label:m"]
ENTITIES = [*FOLDERS, *PAGES, *PEOPLE, *TEAMS, *CREWS]
OBJECTS = ("site", "folder", "page")
INNER = ["folder:a.c", "folder:a.c.d", "page:a.c.x", "page:a.c.d.x"]  # where folders are in folders


def entities(policy: dict[str, Any]) -> list[str]:
    """All that exists in a world of the policy."""
    listed = [*ENTITIES, *(LABELS if "tags" in policy else [])]
    if not in_themselves(policy):
        return listed
    return [*listed, *INNER, *(["page:loose"] if "site" in policy["types"]["page"]["in"] else [])]


def in_themselves(policy: dict[str, Any]) -> bool:
    """Whether folders are in folders."""
    return "," in str(policy["types"]["folder"]["in"])


class RandomPolicy:
    """One random policy, as data with all lists written out."""

    def __init__(self, rng: random.Random, nested: bool = False) -> None:
        """`nested`: folders are in folders."""
        self.rng, self.nested = rng, nested
        self.deny = rng.choice([None, False, True, "cascades"])
        self.one_role, self.missing = rng.random() < 0.3, rng.random() < 0.4
        self.tags = rng.random() < 0.5
        self.data: dict[str, Any] = {"policy": "drawn", "types": self._types()}
        self._optional("title", "A drawn policy")
        self._optional("source", "random")
        data = self.data
        data["members"] = {
            "team": ["user", "team", "robot"],
            "crew": ["user", "crew", "robot"] if self.one_role else ["user", "team", "crew", "robot"],
        }
        data["grants"] = {"to": ["crew"] if self.one_role else ["user", "team", "crew", "robot"]}
        self._optional("inherit", rng.random() < 0.5, data["grants"])
        if self.deny is not None:
            data["grants"]["deny"] = self.deny
        if self.missing:
            data["grants"]["on_missing"] = True
        data["ask"] = {}
        self._optional("subjects", ["user", "robot", "crew"], data["ask"])
        self._optional("elsewhere", rng.choice(["error", "no"]), data["ask"])
        if self.one_role:
            data["ask"]["one_role"] = True
        if not data["ask"]:
            del data["ask"]
        if self.tags:
            labels: dict[str, Any] = {"on": rng.choice([["folder", "page"], ["page"], ["folder"], ["site", "page"]])}
            if (inherited := rng.choice([None, True, False, False])) is not None:
                labels["inherited"] = inherited
            data["tags"] = {"label": labels}
        self._privileges()
        self._builtin()
        self._optional("creating", rng.choice([["owner"], ["P1"], ["P1", "P2"]]))
        self._conditions()
        self._changes()

    def some(self, chance: float = 0.5) -> bool:
        """Yes with this chance."""
        return self.rng.random() < chance

    def _optional(self, key: str, value: Any, at: dict[str, Any] | None = None) -> None:
        if self.some():
            (self.data if at is None else at)[key] = value

    def _types(self) -> dict[str, Any]:
        owners = ["crew"] if self.one_role else ["user", "team", "crew"]
        types: dict[str, Any] = {
            "site": {},
            "folder": {"in": "site"},
            "page": {"in": "folder"},
            "user": {"in": "site", "kind": "user"},
            "robot": {"in": "site", "kind": "service_principal"},
            "team": {"in": "site", "kind": "group"},
            "crew": {"in": "site", "kind": "role"},
        }
        if self.tags:
            types["label"] = {"in": "site"}
        if self.nested:
            types["folder"]["in"] = "site, folder"
            types["page"]["in"] = self.rng.choice(["folder", "site, folder"])
        for name, entry in types.items():
            if name in ("site", "folder", "page", "crew"):
                self._optional("owned_by", owners, entry)
            self._optional("protected", name == "site", entry)
            if name in OBJECTS[1:]:
                self._optional("kind", "object", entry)
        if any("crew" in entry.get("owned_by", []) for entry in types.values()):
            self._optional("keep_while_owning", True, types["crew"])
        return types

    def _privileges(self) -> None:
        rng = self.rng
        entries: dict[str, Any] = {"GATE": {"on": ["site"]}}
        for at in range(5):
            on = rng.sample([*OBJECTS, "team"], rng.randint(1, 4)) if self.some(0.6) else list(OBJECTS)
            entry: dict[str, Any] = {"on": on}
            if self.some(0.3):
                entry["effective"] = rng.sample([*OBJECTS, "team"], rng.randint(1, 3))
            if at and self.some(0.6):
                entry["implies"] = [f"P{low}" for low in rng.sample(range(at), min(at, rng.randint(1, 2)))]
            self._in_effect(entry, 0.35)
            if self.some(0.4):
                entry["inherit"] = self.some()
            if "effective" in entry:
                entry["on"] = [each for each in on if self._counts(entry, each)] or entry["effective"]
            entries[f"P{at}"] = entry
            if self.tags and self._counts_by_tag(entry) and self.some(0.7):
                entry.setdefault("effective", [*entry["on"]])
                entry["on"] = [*entry["on"], "label"]
        if not self.deny:
            joined: dict[str, Any] = {"on": ["team"], "membership": True}
            if self.some(0.4):
                joined["implies"] = ["P0"]
            self._in_effect(joined, 0.4)
            self._optional("inherit", self.some(), joined)
            self._optional("effective", ["team"], joined)
            entries["JOIN"] = joined
        self.data["privileges"] = entries
        if self.some():
            entries["OTHER"] = {"alias_of": rng.choice(["P1", "P2"])}
        if self.some(0.4):
            entries["OWN"] = {"effective": ["folder"], "in_effect": "owner(object) or holds(crew:STAFF)"}
        if self.some(0.4):
            self.data["ladders"] = [sorted(rng.sample([f"P{at}" for at in range(5)], rng.randint(2, 3)))]
        if self.some(0.4):
            text = rng.choice(["GATE(root) and granted", "granted or owner(any)", "holds(crew:STAFF) and granted"])
            self.data["in_effect"] = {rng.choice(["folder, page", "page", "folder"]): text}

    def _counts(self, entry: dict[str, Any], on: str) -> bool:
        """Whether a grant on this type reaches a type on which the privilege can be in effect."""
        below = {"site": {*OBJECTS, "team"}, "folder": {"folder", "page"}}.get(on, {on})
        inherit = entry.get("inherit", self.data["grants"].get("inherit", True))
        return bool((below if inherit else {on}) & {*entry["effective"]})

    def _counts_by_tag(self, entry: dict[str, Any]) -> bool:
        """Whether the privilege can be in effect on what can have a tag, or, if tags are inherited, below it."""
        on = {*self.data["tags"]["label"]["on"]}
        inside = {"folder", "page"} if "folder" in on else {"page"}
        reached = on | inside if self.data["tags"]["label"].get("inherited", True) else on
        return bool(reached & {*entry.get("effective", entry["on"])})

    def _in_effect(self, entry: dict[str, Any], chance: float) -> None:
        texts = [
            "granted",
            "owner(object) or granted",
            "GATE(root) and granted",
            "granted and exists(object)",
            "owner(any)",
        ]
        if self.some(chance):
            entry["in_effect"] = self.rng.choice([*texts, "granted and (holds(crew:STAFF) or owner(any))"])

    def _builtin(self) -> None:
        chiefs: dict[str, Any] = {}
        self._optional("holds", ["crew:STAFF"], chiefs)
        if "crew" in self.data["types"]["site"].get("owned_by", []):
            self._optional("owns", ["site"], chiefs)
        self._optional("allow", ["GATE"], chiefs)
        self._optional("members", ["user", "robot"], chiefs)
        self._optional("held_by_every", ["user", "robot"] if self.some() else ["robot"], chiefs)
        self._optional("hidden", self.some(0.3), chiefs)
        self.data["builtin"] = {"crew:STAFF": {}, "crew:CHIEFS": chiefs}

    # ---- conditions ----------------------------------------------------------------------------------------------
    def _effective(self, name: str) -> list[str]:
        entry = self.data["privileges"][name]
        entry = self.data["privileges"][entry.get("alias_of", name)]
        return list(entry.get("effective", entry.get("on", [])))

    def _atom(self, type_: str, place: str = "") -> str:
        """A condition about the object, or about a place of a type."""
        rng = self.rng
        names = [name for name in self.data["privileges"] if type_ in self._effective(name)]
        about = f"({place})" if place else ""
        if place and "define" in self.data:
            names.append("by_type")
        atoms = [f"{name}{about}" for name in names] * 2 + [
            f"owner({place or 'object'})",
            f"exists({place or 'object'})",
        ]
        if not place:
            atoms += ["owner(any)", "everyone", "holds(crew:STAFF)", "holds(crew:CHIEFS)", "never"]
            atoms += ["GATE(root)", "general", "by_type"] if "define" in self.data and type_ in OBJECTS else []
        if self.nested and not place and type_ in ("folder", "page"):
            folders = [name for name in self.data["privileges"] if "folder" in self._effective(name)]
            above = ["owner(folder)", "owner(parent)", "exists(parent)", "exists(folder)"]
            above += [f"{name}({at})" for name in folders for at in ("folder", "folder", "parent")]
            atoms = [*rng.sample(atoms, min(len(atoms), len(above))), *above]
            if not self.deny:
                atoms += [f"some(P1 in folder, page below {type_})"] * (type_ == "folder")
                atoms += ["every(P1 in folder below folder)", "some(P2 in page below parent)"]
        if not self.deny and type_ in ("site", "folder"):
            low, at = rng.choice([f"P{at}" for at in range(5)]), place or "object"
            atoms += [f"some({low} in page below {at})", f"every({low} in page below {at})"]
        return str(rng.choice(atoms))

    def _condition(self, type_: str, place: str = "") -> str:
        first = self._atom(type_, place)
        if self.some(0.4):
            return f"{first} {self.rng.choice(['and', 'or'])} {self._atom(type_, place)}"
        return first

    def _conditions(self) -> None:
        if self.some():
            meaning = self._condition("folder")
            self.data["define"] = {
                "general": "GATE(root) or owner(any)",
                "by_type": {"site": "everyone", "folder": meaning, "page": self._condition("page")},
            }
        operations: dict[str, Any] = {"site": {"enter": self._condition("site")}}
        for type_ in ("folder", "page"):
            own: dict[str, Any] = {"look": self._condition(type_)}
            for name in ("edit", "move"):
                own[name] = self._operation(type_)
            operations[type_] = own
        operations["page"]["send"] = (
            "can(look, folder) and can(edit, to=with.to)" if self._takes("page") else "can(look)"
        )
        if self._takes("page"):
            second: dict[str, Any] = {"type": "folder"}
            if self._second("page").get("optional"):
                second["optional"] = True
            operations["page"]["send"] = {"if": operations["page"]["send"], "with": {"to": second}}
        operations["user"] = {"rename": "self(user) or GATE(root)"}
        operations["team"] = {
            "talk": "holds(team) or " + self._condition("team"),
            "meet": "custom(team) and holds(team)",
        }
        self.data["operations"] = operations
        self._optional("aliases", {"see": "look"})

    def _second(self, type_: str) -> dict[str, Any]:
        return dict(self._edit[type_].get("with", {}).get("to", {}))

    def _takes(self, type_: str) -> bool:
        entry = self._edit[type_]
        return bool(entry.get("with")) and not entry.get("all_roles")

    def _operation(self, type_: str) -> Any:
        if not hasattr(self, "_edit"):
            self._edit: dict[str, dict[str, Any]] = {}
        entry: dict[str, Any] = {"if": self._condition(type_)}
        if self.some():
            second: dict[str, Any] = {"type": "folder"}
            self._optional("if", self._condition("folder", "with.to"), second)
            if self.some():
                second["optional"] = True
            self._optional("new", True, second)
            if self.some(0.3):
                second["inside"] = (
                    self.rng.choice(["site", "folder"]) if type_ == "page" and not self.nested else "site"
                )
            if "if" not in second and (self.some(0.3) or "optional" not in second):
                entry["if"] = f"({entry['if']}) and {self._atom('folder', 'with.to')}"
            entry["with"] = {"to": second}
        if self.missing:
            self._optional("new", True, entry)
        if self.one_role:
            self._optional("all_roles", True, entry)
        self._optional("returns", "what is there", entry)
        self._edit.setdefault(type_, entry)
        return entry if len(entry) > 1 else entry["if"]

    def _new_grantee(self) -> dict[str, Any]:
        """With a chance, another condition for a grant to a role that the same batch adds."""
        return {"if_new": {"crew": self._condition("page") + " or holds(grantee)"}} if self.some() else {}

    def _changes(self) -> None:
        second = {"type": "page", "inside": "site" if self.nested else "folder"}
        self._optional("optional", True, second)
        self._optional("new", True, second)
        if self.some():
            second["if"] = self._condition("page", "with.like")
        made = {
            "add": {"page": {"if": self._condition("page"), "with": {"like": second}}, "folder": "GATE(root)"},
            "drop": {"folder, page": "owner(any) or GATE(root)"},
            "member": {"team": "holds(grantee) or self(grantee) or GATE(root)", "crew": "holds(crew) or self(grantee)"},
            "remove": {"team": "self(grantee) or holds(team)"},
            "owner": {"folder": "owner(folder) or holds(grantee)"},
            "grant": {"page": {"if": self._condition("page") + " or self(grantee)", **self._new_grantee()}},
            "revoke": {"folder, page": "P1 or owner(any)"},
            "rename": {"folder, page": "GATE(root) or owner(any)"},
            "move": {"page": self._condition("page")},
        }
        if self.tags:
            types = ", ".join(self.data["tags"]["label"]["on"])
            made["tag"] = {types: {"if": "owner(any) or GATE(root)", "with": {"label": self._tag()}}}
        chosen = {kind: rules for kind, rules in made.items() if self.some(0.6)}
        if "owner" in chosen and "owned_by" not in self.data["types"]["folder"]:
            del chosen["owner"]
        if chosen:
            self.data["changes"] = chosen

    def _tag(self) -> Any:
        """The second object of the rule about tags."""
        return {"type": "label", "optional": True, "if": "exists(with.label)"} if self.some() else "label"


def random_facts(policy: dict[str, Any], rng: random.Random) -> tuple[World, list[str]]:
    """A world of facts that the policy accepts, and the statements that load them into a root."""
    builtin = policy["builtin"]
    listed = entities(policy)
    world = World({ROOT, *listed, *builtin})
    said = [f"add {ref}" for ref in listed]
    every = {ref: entry.get("held_by_every", []) for ref, entry in builtin.items()}
    for ref in world.existing:
        world.containers[ref] = {role for role, types in every.items() if type_of(ref) in types}
    for ref, entry in builtin.items():
        world.containers[ref] |= {*entry.get("holds", [])}
        world.grants |= {("allow", name, ROOT, ref) for name in entry.get("allow", [])}
        if entry.get("owns"):
            world.owners[ROOT] = ref
    containers = [*TEAMS, *CREWS, "crew:STAFF", "crew:CHIEFS"]
    for _ in range(14):
        member, container = rng.choice([*PEOPLE, *TEAMS, *CREWS]), rng.choice(containers)
        allowed = builtin.get(container, {}).get("members") or policy["members"][type_of(container)]
        hidden = builtin.get(container, {}).get("hidden")
        if type_of(member) in allowed and not hidden and member not in world.reach(container):
            world.containers[member].add(container)
            said.append(f"member {member} of {container}")
    objects = [each for each in listed if type_of(each) in OBJECTS]
    for on in [*objects, *CREWS]:
        owners = policy["types"][type_of(on)].get("owned_by", [])
        by = rng.choice([*PEOPLE, *TEAMS, *CREWS])
        if type_of(by) in owners and by != on:
            world.owners[on] = by
            said.append(f"owner {by} of {on}")
    for _ in range(4 if "tags" in policy else 0):
        tagged, tag = rng.choice(objects), rng.choice(LABELS)
        if type_of(tagged) in policy["tags"]["label"]["on"]:
            world.tags.add((tagged, tag))
            said.append(f"tag {tagged} with {tag}")
    labels = LABELS if "tags" in policy else []
    places = [
        ROOT,
        *objects,
        *TEAMS,
        *labels,
        *labels,
        *([LATER, LATER_FOLDER] if policy["grants"].get("on_missing") else []),
    ]
    names = [name for name, entry in policy["privileges"].items() if entry.get("on") and not entry.get("membership")]
    effects = ["allow", "allow", "deny"] if policy["grants"].get("deny") else ["allow"]
    for _ in range(22):
        name, on, effect = rng.choice(names), rng.choice(places), rng.choice(effects)
        by = rng.choice([*PEOPLE, *TEAMS, *CREWS, "crew:STAFF"])
        if type_of(on) in policy["privileges"][name]["on"] and type_of(by) in policy["grants"]["to"]:
            world.grants.add((effect, name, on, by))
            said.append(f"{effect} {name} on {on} to {by}")
    return world, said
