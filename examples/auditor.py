#!/usr/bin/env python3
"""Auditor: checks an exported Hearthbus ledger, or an audit packet, with Python's standard library alone.

    hearthbus ledger export FOLDER --with-bodies
    python3 examples/auditor.py FOLDER --vkey 'hearthbus.local/attic+0a1b2c3d+AW…'
    python3 examples/auditor.py FOLDER --vkey … --checkpoint kept.txt --task T-1 --session 01J…

    hearthbus ledger bundle FILE --task T-1 --from-size 300
    python3 examples/auditor.py FILE --vkey … --checkpoint kept.txt

It knows docs/protocols/ledger.md and nothing of Hearthbus itself: formats are those of C2SP (tlog-tiles, signed notes),
RFC 6962 (tree), RFC 8032 (Ed25519) and RFC 8785 (canonical JSON). It ends with 0 when everything agrees,
with 2 when the command line is wrong, else with 5.
"""
import argparse
import base64
import datetime
import hashlib
import json
import math
import pathlib
import re
import stat
import sys

TILE = 256
findings = []


def found(sentence):
    findings.append(sentence)


def sha256(data):
    return hashlib.sha256(data).digest()


# Ed25519, RFC 8032 § 5.1.7: only what a verifier needs.
P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)


def recover_x(y, sign):
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P != 0:
        x = x * ROOT_OF_MINUS_1 % P
    if (x * x - x2) % P != 0 or (x == 0 and sign == 1):
        return None
    return P - x if x & 1 != sign else x


def point(data):
    number = int.from_bytes(data, "little")
    y, sign = number & (2**255 - 1), number >> 255
    x = recover_x(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


def add(one, other):
    a = (one[1] - one[0]) * (other[1] - other[0]) % P
    b = (one[1] + one[0]) * (other[1] + other[0]) % P
    c = 2 * one[3] * other[3] * D % P
    d = 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiply(scalar, base):
    result = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            result = add(result, base)
        base = add(base, base)
        scalar >>= 1
    return result


def is_same(one, other):
    return (one[0] * other[2] - other[0] * one[2]) % P == 0 and (one[1] * other[2] - other[1] * one[2]) % P == 0


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = recover_x(BASE_Y, 0)
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def is_signed(public_key, message, signature):
    a, r = point(public_key), point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= Q or len(signature) != 64:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), "little") % Q
    return is_same(multiply(s, BASE), add(r, multiply(h, a)))


# RFC 6962 § 2.1.
def leaf_hash(data):
    return sha256(b"\x00" + data)


def node_hash(left, right):
    return sha256(b"\x01" + left + right)


class Tree:
    """A stack of perfect subtrees, and the hashes that tiles of each level hold."""

    def __init__(self):
        self.size = 0
        self.stack = []
        self.levels = {}

    def append(self, leaf):
        node, index, height = leaf, self.size, 0
        self.levels.setdefault(0, []).append(node)
        while index % 2 == 1:
            node = node_hash(self.stack.pop(), node)
            index //= 2
            height += 1
            if height % 8 == 0:
                self.levels.setdefault(height // 8, []).append(node)
        self.stack.append(node)
        self.size += 1

    def root(self):
        if not self.stack:
            return sha256(b"")
        root = self.stack[-1]
        for left in reversed(self.stack[:-1]):
            root = node_hash(left, root)
        return root


def root_of(leaves):
    tree = Tree()
    for leaf in leaves:
        tree.append(leaf)
    return tree.root()


# RFC 8785.
def number_text(value):
    """As ECMAScript writes a double: the shortest digits that give it back."""
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("JSON has no such number") from None
    if number == 0:
        return "0"
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + f"e{point - 1:+d}"
    return ("-" if number < 0 else "") + text


def canonical(value):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(one) for one in value) + "]"
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("JSON has no such number")
    return number_text(value)


def canonical_json(data):
    """What these bytes say in canonical JSON, else an error: JSON knows no NaN, and canonical JSON no name twice."""

    def members(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a name stands twice")
        return dict(pairs)

    def refuse(text):
        raise ValueError(f"{text} is no JSON")

    try:
        value = json.loads(data.decode(), object_pairs_hook=members, parse_constant=refuse)
        if canonical(value).encode() == data:
            return value
    except RecursionError:
        pass
    raise ValueError("it is not canonical JSON")


def is_count(value):
    """Python takes true for 1."""
    return type(value) is int and 0 <= value < 2**53


KIND = re.compile(r"[a-z][a-z0-9_-]*(?:\.[a-z][a-z0-9_-]*)*", re.ASCII)
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


def is_time(value):
    if not isinstance(value, str) or TIME.fullmatch(value) is None:
        return False
    # Python knows no year 0, which has the days of the year 2000.
    year = value[:4] if value[:4] != "0000" else "2000"
    try:
        datetime.datetime.strptime(year + value[4:19], "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return False
    return value[17:19] < "60"


def parsed(data):
    """An entry, or nothing."""
    try:
        entry = canonical_json(data)
    except ValueError:
        return None
    if not isinstance(entry, dict) or not is_count(entry.get("v")) or entry["v"] != 1:
        return None
    kind = entry.get("kind")
    if not isinstance(kind, str) or KIND.fullmatch(kind) is None or not is_time(entry.get("at")):
        return None
    return entry if is_count(entry.get("seq")) else None


# C2SP signed notes and checkpoints.
def strict_base64(text):
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("it is not base64 as everybody writes it")
    return data


def open_checkpoint(data, vkey):
    text = data.decode()
    name, key_id, encoded = vkey.split("+", 2)
    key = base64.b64decode(encoded, validate=True)
    if key[:1] != b"\x01" or sha256(name.encode() + b"\n" + key)[:4].hex() != key_id:
        raise ValueError("the key's id does not belong to its name and key")
    body, _, signatures = text.removesuffix("\n").rpartition("\n\n")
    lines = [line.split(" ") for line in signatures.split("\n")]
    if not text.endswith("\n") or any(len(line) != 3 or line[0] != "\u2014" for line in lines):
        raise ValueError("it is no signed note")
    signed = [(signer, strict_base64(blob)) for _, signer, blob in lines]
    own = [blob[4:] for signer, blob in signed if signer == name and blob[:4].hex() == key_id]
    if not own:
        raise ValueError("the log has not signed it")
    # As a signed note has it, a second line by the same key is ignored.
    if not is_signed(key[1:], (body + "\n").encode(), own[0]):
        raise ValueError("the log's signature is wrong")
    origin, size, root = body.split("\n")[:3]
    if origin != name:
        raise ValueError("it is of another log")
    return int(size), strict_base64(root)


# C2SP tlog-tiles.
def index_path(index):
    groups = [f"{index % 1000:03d}"]
    while index >= 1000:
        index //= 1000
        groups.insert(0, f"x{index % 1000:03d}")
    return "/".join(groups)


def tile_path(level, index, width):
    return f"tile/{level}/{index_path(index)}" + ("" if width == TILE else f".p/{width}")


# More than any tile or bundle has; a file of bodies has 256 of 8 MiB at most.
MOST_BYTES, MOST_BODIES = 2**25, TILE * (40 + 2**23)


def read(folder, path, most=MOST_BYTES):
    """Nothing where there is no file; a pipe or a file without end is not waited for."""
    try:
        status = (folder / path).stat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= most:
            return (folder / path).read_bytes()
        found(f"{path} is not a file of such a log")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        found(f"{path} cannot be read: {error.strerror}")
    return b""


def split_bundle(bundle, width):
    """The entries, or nothing where there are not so many."""
    entries, at = [], 0
    while at < len(bundle):
        end = at + 2 + int.from_bytes(bundle[at : at + 2], "big")
        entries.append(bundle[at + 2 : end])
        at = end
    return entries if len(entries) == width and at == len(bundle) else None


def read_tile(folder, level, index, width):
    """A partial tile may be gone once the full one is there, which begins with it (C2SP tlog-tiles)."""
    stored = read(folder, tile_path(level, index, width))
    if stored is not None:
        return stored
    full = read(folder, tile_path(level, index, TILE)) if width < TILE else None
    if full is None:
        found(f"{tile_path(level, index, width)} is missing")
        return b""
    if level != "entries":
        return full[: 32 * width]
    entries = split_bundle(full, TILE) or []
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries[:width])


def entries_of(folder, size):
    for index in range((size + TILE - 1) // TILE):
        width = min(TILE, size - index * TILE)
        entries = split_bundle(read_tile(folder, "entries", index, width), width)
        if entries is None:
            found(f"entry bundle {index} does not hold {width} entries")
            return
        yield from entries


def bodies_of(folder, size):
    """By entry, those of which only zeros are left apart. `None` where the export has none at all."""
    if not (folder / "bodies").exists():
        return None, set()
    bodies, blank = {}, set()
    for index in range((size + TILE - 1) // TILE):
        path = f"bodies/{index_path(index)}"
        data = read(folder, path, MOST_BODIES) or b""
        at, count, places = 0, 0, set()
        while at < len(data):
            place, length = int.from_bytes(data[at : at + 4], "big"), int.from_bytes(data[at + 4 : at + 8], "big")
            salt, body = data[at + 8 : at + 40], data[at + 40 : at + 40 + length]
            at, count = at + 40 + length, count + 1
            if at > len(data) or count > TILE or place >= TILE or place in places:
                found(f"{path} is not whole, or holds a body of no entry, or one twice")
                break
            places.add(place)
            if any(salt):
                bodies[index * TILE + place] = (salt, body)
            else:
                blank.add(index * TILE + place)
    return bodies, blank


def check_tiles(folder, tree):
    for level, hashes in tree.levels.items():
        for first in range(0, len(hashes), TILE):
            tile, index = hashes[first : first + TILE], first // TILE
            if read_tile(folder, level, index, len(tile)) != b"".join(tile):
                found(f"tile {level}/{index} does not hold the hashes of its entries")
            if len(tile) < TILE:
                check_narrower(folder, level, index, tile)


def check_narrower(folder, level, index, tile):
    """Partial tiles of older checkpoints, which stay for their readers, hold the first hashes or entries of the same."""
    for kind in [level, "entries"] if level == 0 else [level]:
        beside = (folder / tile_path(kind, index, 1)).parent
        for width in [int(each.name) for each in beside.iterdir() if each.name.isdigit()] if beside.is_dir() else []:
            if not 0 < width < len(tile):
                continue
            stored = read(folder, tile_path(kind, index, width))
            if kind == "entries":
                stored = b"".join(leaf_hash(each) for each in split_bundle(stored, width) or [])
            if stored != b"".join(tile[:width]):
                found(f"{tile_path(kind, index, width)} does not begin like the tile that it is a part of")


def check_entries(folder, size, kept):
    tree, entries, open_calls, ended_calls = Tree(), [], set(), set()
    for data in entries_of(folder, size):
        seq = tree.size
        tree.append(leaf_hash(data))
        if tree.size in kept and kept[tree.size] != tree.root():
            found(f"the first {tree.size} entries are not the ones that were signed")
        entry = parsed(data)
        if entry is None:
            found(f"entry {seq} is not one in canonical JSON, with its number, a kind and a time")
            entry = {"kind": "", "v": 1, "seq": seq}
        entries.append(entry)
        if entry["seq"] != seq:
            found(f"entry {seq} says that it is entry {entry['seq']}")
        call = entry.get("call") if is_count(entry.get("call")) else None
        if entry["kind"] == "call.enter":
            open_calls.add(seq)
        elif entry["kind"] in ("call.exit", "call.aborted"):
            if call not in open_calls:
                found(f"entry {seq} ends call {entry.get('call')}, which was not open")
            open_calls.discard(call)
            ended_calls.add(call)
        elif entry["kind"] == "call.outcome" and (call is None or call not in ended_calls):
            found(f"entry {seq} tells more about call {entry.get('call')}, which had not ended")
    return tree, entries


def check_bodies(entries, bodies, blank):
    erased, salts = {}, {}
    for seq, entry in enumerate(entries):
        if entry["kind"] == "body.erased":
            target = entry.get("entry")
            is_past = is_count(target) and target < seq
            if not is_past or target in bodies or target in erased or "body_hash" not in entries[target]:
                found(f"entry {seq} says that the body of entry {target} was erased, which is not so")
            if is_past:
                erased[target] = seq
    for seq in [*bodies, *blank]:
        if seq >= len(entries):
            found(f"a body is stored for entry {seq}, which there is not")
    for seq, entry in enumerate(entries):
        if "body_hash" not in entry:
            if seq in bodies or seq in blank:
                found(f"a body is stored for entry {seq}, which commits to none")
            continue
        if seq not in bodies:
            if seq not in erased:
                found(f"the body of entry {seq} is gone, and no erasure accounts for it")
            continue
        salt, body = bodies[seq]
        try:
            content = canonical_json(body)
        except ValueError:
            found(f"the body of entry {seq} is not canonical JSON")
            continue
        if sha256(salt + body).hex() != entry["body_hash"]:
            found(f"the body of entry {seq} is not the one the entry commits to")
        else:
            check_content(entry, content, salts)


# What stands in a stored result in place of a secret, or of what was too long.
ABRIDGED = re.compile(r"\[(?:redacted|cut)\b")


def salted(salt, value):
    return sha256(bytes.fromhex(salt) + canonical(value).encode()).hex()


def check_content(entry, content, salts):
    """The other hashes of an entry are those of its body; `salts` are those of the calls before it."""
    if content is None:
        return
    # A body that is no object has none of the parts that hashes are of.
    content = content if isinstance(content, dict) else {}
    kind, why = entry["kind"], None
    if kind == "call.enter" and "args_hash" in entry:
        if not re.fullmatch("[0-9a-f]{32}", str(content.get("salt"))):
            why = "there is no salt beside the arguments"
        else:
            salts[entry["seq"]] = content["salt"]
            if salted(content["salt"], content.get("args")) != entry["args_hash"]:
                why = "args_hash is not that of the arguments"
    elif kind == "call.exit" and "result" in content and entry.get("call") in salts:
        result = content["result"]
        if salted(salts[entry["call"]], result) != entry.get("result_hash") and not ABRIDGED.search(canonical(result)):
            why = "result_hash is not that of the result"
    elif kind == "thought":
        why = thought_contradiction(entry, content)
    elif kind in ("approval.requested", "grant.created"):
        for field, part in (("leaves_hash", "leaves"), ("preview_hash", "preview"), ("frame_hash", "frame")):
            said = None if part not in content else sha256(canonical(content[part]).encode()).hex()
            if entry.get(field) != said:
                why = f"{field} is not that of what was shown"
    if why is not None:
        found(f"entry {entry['seq']} ({kind}) contradicts its body: {why}")


def thought_contradiction(entry, content):
    names = ("id", "type", "task_id", "timestamp", "prev_hash")
    hashed = {**{name: entry.get(name) for name in names}, "content": content.get("content")}
    if sha256(canonical(hashed).encode()).hex() != entry.get("hash"):
        return "hash is not that of its fields"
    key, signature = entry.get("public_key"), entry.get("signature")
    if key is None and signature is None:
        return None
    said = {name: entry.get(name) for name in ("agent_id", "task_id", "type")} | {"content": content.get("content")}
    try:
        text = b"hearthbus-thought-v1\n" + canonical(said).encode()
        is_own = is_signed(strict_base64(key), text, strict_base64(signature))
    except (TypeError, ValueError):
        is_own = False
    return None if is_own else "signature is not one of these words by public_key"


class Succession:
    """Which entry may follow the ones before it: docs/protocols/ledger.md, "State is a projection".

    Of the kinds there, those of tasks, thoughts, sessions, approvals and grants; who was let in, and with which role,
    is what `hearthbus ledger verify --export` checks as well. An entry that may not follow has no effect.
    """

    WAYS = {
        "INIT": ["GATHER"],
        "GATHER": ["ANALYZE"],
        "ANALYZE": ["PLAN"],
        "PLAN": ["APPLY"],
        "APPLY": ["VERIFY"],
        "VERIFY": ["DONE", "GATHER"],
    }

    def __init__(self):
        self.tasks, self.chains, self.sessions, self.keys, self.signatures = {}, {}, {}, {}, set()
        self.approvals, self.grants = {}, {}
        self.rules = {
            "task.created": self.task_created,
            "task.changed": self.task_transition,
            "task.transition": self.task_transition,
            "thought": self.thought,
            "agent.key": self.agent_key,
            "session.start": self.session_start,
            "session.final": self.session_final,
            "approval.requested": self.approval_requested,
            "approval.approved": self.approval_approved,
            "approval.denied": self.approval_denied,
            "approval.expired": self.approval_expired,
            "approval.used": self.approval_used,
            "grant.created": self.grant_created,
            "grant.used": self.grant_used,
            "grant.given-back": self.grant_given_back,
            "grant.ended": self.grant_ended,
        }

    def read(self, entry):
        """Why it may not follow, or nothing."""
        rule = self.rules.get(entry["kind"])
        try:
            return None if rule is None else rule(entry)
        except (KeyError, TypeError, ValueError):
            return "a field that such an entry needs is missing or wrong"

    def task_created(self, entry):
        task, waits, follows = entry["task_id"], entry.get("depends_on", []), entry.get("follows")
        if task in self.tasks:
            return f"task {task} was created before"
        if any(other not in self.tasks for other in waits) or (follows is not None and follows not in self.tasks):
            return "there is no task that it waits for, or follows"
        self.tasks[task] = {"status": "INIT", "version": 1, "entry": entry["seq"], "waits": waits, "verify": None, "reflected": -1}

    def task_transition(self, entry):
        task = self.tasks[entry["task_id"]]
        status, to, waits = task["status"], entry.get("to"), entry.get("depends_on", task["waits"])
        if entry["version"] != task["version"] + 1 or entry["previous_entry"] != task["entry"]:
            return "it is not the next change of its task"
        if status not in self.WAYS:
            return f"its task is {status}"
        if entry["kind"] == "task.transition":
            if entry["from"] != status or to not in [*self.WAYS[status], "CANCELLED"]:
                return f"a task in {status} cannot go to {to}"
            if to == "DONE" and task["reflected"] <= task["verify"]:
                return "its task has no reflection from after VERIFY"
            if to == "APPLY" and any(self.tasks[other]["status"] != "DONE" for other in waits):
                return "its task waits for another"
            task.update(status=to, verify=entry["seq"] if to == "VERIFY" else task["verify"])
        task.update(version=entry["version"], entry=entry["seq"], waits=waits)

    def session_start(self, entry):
        task = entry.get("task_id")
        if entry["session_id"] in self.sessions or (task is not None and task not in self.tasks):
            return "there was such a session before, or there is no such task"
        self.sessions[entry["session_id"]] = {"places": [], "tree": Tree(), "began": entry["seq"], "is_open": True}

    def session_final(self, entry):
        session = self.sessions[entry["session_id"]]
        tree, at = session["tree"], session["places"] or [session["began"]]
        if not session["is_open"]:
            return "the session was sealed before"
        said = (entry["record_count"], entry["root"], entry["first_index"], entry["last_index"])
        if said != (tree.size, tree.root().hex(), at[0], at[-1]):
            return "it does not seal the records of its session"
        session["is_open"] = False

    def thought(self, entry):
        task, session = self.tasks[entry["task_id"]], self.sessions.get(entry.get("session_id"))
        agent, key, signature = entry["agent_id"], entry.get("public_key"), entry.get("signature")
        if "session_id" in entry and (session is None or not session["is_open"]):
            return "its session was not open"
        if entry["prev_hash"] != self.chains.get(entry["task_id"], "0" * 64):
            return "it does not continue the chain of its task"
        if agent in self.keys and self.keys[agent] != key:
            return f"it was not signed with the key of {agent}"
        if signature is not None and signature in self.signatures:
            return "this signed statement was recorded before"
        leaf = leaf_hash(bytes.fromhex(entry["hash"]))
        if key is not None:
            self.keys[agent] = key
        self.signatures.add(signature)
        self.chains[entry["task_id"]] = entry["hash"]
        if session is not None:
            session["tree"].append(leaf)
            session["places"].append(entry["seq"])
        if entry["type"] == "reflection":
            task["reflected"] = entry["seq"]

    def agent_key(self, entry):
        if entry.get("previous_key") != self.keys.get(entry["agent_id"]):
            return "the agent had another key"
        self.keys[entry["agent_id"]] = entry.get("public_key")

    def approval_requested(self, entry):
        if entry["approval"] in self.approvals:
            return "there was such an approval before"
        asked = (entry["principal"], entry["tool"])
        self.approvals[entry["approval"]] = {"state": "requested", "until": entry["expires_at"], "of": asked, "trace": None}

    def approval_approved(self, entry):
        approval = self.approvals[entry["approval"]]
        if "given_back_by" in entry:
            if approval["state"] != "used" or approval["trace"] != entry["given_back_by"]:
                return "that call did not use it"
            approval.update(state="approved", trace=None)
        elif approval["state"] != "requested" or entry["at"] >= approval["until"]:
            return f"the approval is {approval['state']}, or had lapsed"
        elif entry["by"] == approval["of"][0]:
            return f"{entry['by']} decided about a call of its own"
        elif entry.get("grant") is not None and self.grants[entry["grant"]]["approval"] != entry["approval"]:
            return "its grant is from another approval"
        else:
            approval.update(state="approved", until=entry["expires_at"])

    def approval_denied(self, entry):
        approval = self.approvals[entry["approval"]]
        if approval["state"] not in ("requested", "approved"):
            return f"the approval is {approval['state']} already"
        # A no takes rights away, so it holds whoever said it.
        approval["state"] = "denied"
        return f"{entry['by']} decided about a call of its own" if entry.get("by") == approval["of"][0] else None

    def approval_expired(self, entry):
        approval = self.approvals[entry["approval"]]
        if approval["state"] not in ("requested", "approved"):
            return f"the approval is {approval['state']} already"
        approval["state"] = "expired"

    def approval_used(self, entry):
        approval = self.approvals[entry["approval"]]
        if approval["state"] != "approved" or entry["at"] >= approval["until"]:
            return f"the approval is {approval['state']}, or had lapsed"
        if (entry["principal"], entry["tool"]) != approval["of"]:
            return "the approval was given for another caller or tool"
        approval.update(state="used", trace=entry.get("trace_id"))

    def grant_created(self, entry):
        approval = self.approvals[entry["approval"]]
        if entry["grant"] in self.grants or approval["state"] != "requested" or approval["of"][1] != entry["tool"]:
            return "it comes from no open question about that tool"
        if entry["by"] == approval["of"][0]:
            return f"{entry['by']} gave a grant to itself"
        most, until = entry["max_uses"], entry["expires_at"]
        self.grants[entry["grant"]] = {"approval": entry["approval"], "uses": [], "most": most, "until": until, "ended": None}

    def grant_used(self, entry):
        grant = self.grants[entry["grant"]]
        if grant["ended"] is not None or entry["at"] >= grant["until"]:
            return "the grant is not in force"
        if entry["use"] != len(grant["uses"]) + 1 or entry["use"] > grant["most"]:
            return f"the grant was used {len(grant['uses'])} of {grant['most']} times, and this is not the next"
        grant["uses"].append(entry["trace_id"])

    def grant_given_back(self, entry):
        grant = self.grants[entry["grant"]]
        grant["uses"].remove(entry["trace_id"])
        if grant["ended"] == "used up":
            grant["ended"] = None

    def grant_ended(self, entry):
        grant = self.grants[entry["grant"]]
        if grant["ended"] is not None:
            return "the grant is not in force"
        grant["ended"] = entry.get("because", "")


def check_succession(entries):
    succession = Succession()
    for entry in entries:
        why = succession.read(entry)
        if why is not None:
            found(f"entry {entry['seq']} ({entry['kind']}) cannot follow what was recorded before it: {why}")


def places(entries):
    return entries.items() if isinstance(entries, dict) else enumerate(entries)


def check_thoughts(entries, task):
    """The chain of a task: each thought names the one before it; the first one names 64 zeros."""
    previous, count = "0" * 64, 0
    for _, entry in places(entries):
        if entry["kind"] != "thought" or entry["task_id"] != task:
            continue
        count += 1
        if entry["prev_hash"] != previous:
            found(f"thought {entry['id']} does not follow the one before it")
        previous = entry["hash"]
    return count


def check_session(entries, session):
    listed = list(places(entries))
    hashes = [(seq, e["hash"]) for seq, e in listed if e["kind"] == "thought" and e.get("session_id") == session]
    seals = [entry for _, entry in listed if entry["kind"] == "session.final" and entry["session_id"] == session]
    if len(seals) != 1:
        found(f"session {session} has {len(seals)} seals")
        return None
    sealed = [(seq, one) for seq, one in hashes if seq < seals[0]["seq"]]
    tree = Tree()
    for _, one in sealed:
        tree.append(leaf_hash(bytes.fromhex(one)))
    said = (seals[0]["root"], seals[0]["record_count"], seals[0]["first_index"], seals[0]["last_index"])
    if not sealed or len(sealed) != len(hashes) or said != (tree.root().hex(), tree.size, sealed[0][0], sealed[-1][0]):
        found(f"the seal of session {session} is not that of its records")
    return tree.root().hex()


# RFC 6962 § 2.1.1 and § 2.1.2, as RFC 9162 § 2.1.3.2 and § 2.1.4.2 spell the checks.
def is_included(leaf, index, size, path, root):
    if index >= size:
        return False
    node, at, last = leaf, index, size - 1
    for sibling in path:
        if last == 0:
            return False
        if at % 2 == 1 or at == last:
            node = node_hash(sibling, node)
            while at % 2 == 0 and at != 0:
                at, last = at // 2, last // 2
        else:
            node = node_hash(node, sibling)
        at, last = at // 2, last // 2
    return last == 0 and node == root


def is_extension(first, first_root, second, second_root, path):
    if first == second:
        return not path and first_root == second_root
    if first == 0:
        return not path and first_root == sha256(b"")
    if not path:
        return False
    path = list(path) if first & (first - 1) else [first_root, *path]
    at, last = first - 1, second - 1
    while at % 2 == 1:
        at, last = at // 2, last // 2
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if at % 2 == 1 or at == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while at % 2 == 0 and at != 0:
                at, last = at // 2, last // 2
        else:
            new = node_hash(new, sibling)
        at, last = at // 2, last // 2
    return last == 0 and old == first_root and new == second_root


# What a packet tells beside its entries follows from them (docs/protocols/ledger.md, "Audit packet").
def pick(source, *names):
    return {name: source[name] for name in names if isinstance(source, dict) and name in source}


def placed(entry):
    return {"log_index": entry["seq"], "at": entry["at"]}


def grouped(opened, prefix, name, *fields):
    groups = {}
    for entry, body in opened:
        if entry["kind"].startswith(prefix) and isinstance(entry.get(name), str):
            step = {**placed(entry), "kind": entry["kind"], **pick(entry, *fields)}
            groups.setdefault(entry[name], []).append(step if body is None else {**step, "body": body})
    return [{name: one, "steps": steps} for one, steps in groups.items()]


def ending(entry, body, *fields):
    return {**placed(entry), **pick(entry, *fields), **pick(body, "message", "observed", "label")}


def changes_of(opened):
    ends = {entry["call"]: (entry, body) for entry, body in opened if entry["kind"] in ("call.exit", "call.aborted")}
    lates = {entry["call"]: (entry, body) for entry, body in opened if entry["kind"] == "call.outcome"}
    changes = []
    for entry, body in opened:
        end, end_body = ends.get(entry["seq"], (None, None))
        effect = (end or {}).get("effect", entry.get("effect"))
        if entry["kind"] != "call.enter" or effect not in ("writes", "sensitive", "admin"):
            continue
        names = ("tool", "principal", "trace_id", "task_id", "session_id")
        change = {**placed(entry), **pick(entry, *names), **pick(body, "args")}
        if end is not None:
            names = ("kind", "outcome", "error_code", "effect", "target", "dry_run", "replayed", "approval", "grant")
            change["end"] = ending(end, end_body, *names)
        if isinstance(end_body, dict):
            change.update(pick(end_body.get("result"), "before", "after"))
        if entry["seq"] in lates:
            change["later"] = ending(*lates[entry["seq"]], "outcome", "source")
        changes.append(change)
    return changes


def description_of(opened):
    thought = ("id", "type", "task_id", "session_id", "agent_id", "timestamp", "prev_hash", "hash")
    session = ("session_id", "task_id", "principal", "root", "record_count")
    consent = ("principal", "tool", "target", "by")
    return {
        "tasks": grouped(opened, "task.", "task_id", "from", "to", "principal"),
        "thoughts": [
            {**placed(e), **pick(e, *thought), **pick(b, "content")} for e, b in opened if e["kind"] == "thought"
        ],
        "sessions": [
            {**placed(e), "kind": e["kind"], **pick(e, *session), **pick(b, "intent")}
            for e, b in opened
            if e["kind"].startswith("session.")
        ],
        "changes": changes_of(opened),
        "approvals": grouped(opened, "approval.", "approval", *consent),
        "grants": grouped(opened, "grant.", "grant", *consent),
    }


def read_packet_entry(packed, size, root):
    data = packed["leaf"].encode()
    entry = parsed(data)
    index, opening = packed["index"], packed.get("opening")
    path = [base64.b64decode(one, validate=True) for one in packed["path"]]
    if entry is None:
        raise ValueError(f"entry {index} is not one in canonical JSON, with its number, a kind and a time")
    if not is_count(index) or entry["seq"] != index:
        found(f"entry {index} is not at its place")
    if not is_included(leaf_hash(data), index, size, path, root):
        found(f"entry {index} is not proved to be in the log")
    if opening is None:
        return entry, None
    if set(opening) != {"salt", "body"} or not re.fullmatch("[0-9a-f]{64}", opening["salt"]):
        raise ValueError(f"the opening of entry {index} is not one")
    if sha256(bytes.fromhex(opening["salt"]) + opening["body"].encode()).hex() != entry.get("body_hash"):
        found(f"the content of entry {index} is not what the entry commits to")
        return entry, None
    return entry, canonical_json(opening["body"].encode())


def check_members(packet, vkey):
    """What no entry proves has to be what the reader's own key says, or must not be there."""
    own = {"format", "scope", "origin", "verifier_key", "checkpoint", "consistency", "left_out", "entries"}
    others = set(packet) - own - set(description_of([]))
    for packed in packet["entries"]:
        others |= set(packed) - {"index", "leaf", "path", "opening", "withheld"}
    for name in sorted(others):
        found(f"it has a part {name}, which nothing proves")
    if packet["verifier_key"] != vkey or packet["origin"] != vkey.split("+")[0]:
        found("it names another log or key")
    if not is_count(packet["left_out"]):
        found("it does not say how many entries are left out")


def check_scope(scope, entries):
    (name, value), *more = scope.items()
    if more or name not in ("task_id", "session_id", "since") or not isinstance(value, str):
        raise ValueError("it does not say what it is about")
    if name != "since" and entries and all(entry.get(name) != value for entry in entries):
        found(f"none of its entries is about the {name} that it names")


def check_steps(entries):
    """A packet about a task or a session has every step of each task that it has steps of."""
    tasks = {}
    for entry in entries:
        if not entry["kind"].startswith("task."):
            continue
        before, is_first = tasks.get(entry["task_id"]), entry["kind"] == "task.created"
        step = (entry["version"], entry.get("previous_entry"), entry.get("from"))
        if is_first:
            follows = before is None and step == (1, None, None)
        else:
            follows = before is not None and step[:2] == (before[0] + 1, before[1]) and step[2] in (None, before[2])
        if not follows:
            found(f"step {entry['seq']} does not follow the one of its task before it: some are missing")
        status = entry.get("status") if is_first else entry.get("to", before and before[2])
        tasks[entry["task_id"]] = (entry["version"], entry["seq"], status)


def check_packet(packet, vkey, kept):
    if packet.get("format") != "hearthbus-audit-packet/v1":
        raise ValueError("it is no audit packet")
    size, root = open_checkpoint(packet["checkpoint"].encode(), vkey)
    check_members(packet, vkey)
    if kept is not None:
        given = packet.get("consistency", {})
        path = [base64.b64decode(one, validate=True) for one in given.get("path", [])]
        if kept[0] in (0, size):
            path = []
        elif given.get("from_size") != kept[0]:
            found(f"there is no proof from the {kept[0]} entries that were kept")
        if not is_extension(kept[0], kept[1], size, root, path):
            found("the log does not extend the checkpoint that was kept")
    opened = [read_packet_entry(packed, size, root) for packed in packet["entries"]]
    if [e["seq"] for e, _ in opened] != sorted({e["seq"] for e, _ in opened}):
        found("its entries are not in order, each once")
    erased = {entry["entry"] for entry, _ in opened if entry["kind"] == "body.erased"}
    salts = {}
    for packed, (entry, body) in zip(packet["entries"], opened):
        if "withheld" in packed and ("opening" in packed or "body_hash" not in entry):
            found(f"entry {entry['seq']} withholds nothing, and says that it does")
        check_content(entry, body, salts)
        if "body_hash" not in entry or body is not None or packed.get("withheld") == "not-shown":
            continue
        if packed.get("withheld") != "erased" or entry["seq"] not in erased:
            found(f"the content of entry {entry['seq']} is missing, and no erasure accounts for it")
    entries = [entry for entry, _ in opened]
    shown = sum(1 for _, body in opened if body is not None)
    by_place = {entry["seq"]: entry for entry in entries}
    scope = packet["scope"]
    check_scope(scope, entries)
    if "since" not in scope:
        check_steps(entries)
    if "task_id" in scope:
        check_thoughts(by_place, scope["task_id"])
    if "session_id" in scope and any(entry["kind"] == "session.final" for entry in entries):
        check_session(by_place, scope["session_id"])
    for name, value in description_of(opened).items():
        if canonical(packet.get(name)) != canonical(value):
            found(f"its part {name} does not match its entries")
    return f"{len(entries)} entries of {size}, {shown} with their content, {len(packet['changes'])} changes"


def audit_packet(args):
    try:
        packet = json.loads(args.folder.read_text(encoding="utf-8"))
        # As a file, or as the tool answered it.
        packet = packet["data"] if packet.get("ok") is True else packet
        kept = None if args.checkpoint is None else open_checkpoint(args.checkpoint.read_bytes(), args.vkey)
        said = check_packet(packet, args.vkey, kept)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"The packet cannot be trusted: {error}.")
        return 5
    for sentence in findings:
        print(f"Found: {sentence}.")
    print(said + ("." if not findings else f"; {len(findings)} found wrong."))
    return 5 if findings else 0


# Rounds: votes are DSSE envelopes over canonical JSON, one per voter; a quorum is an approval (docs/protocols/consensus.md).
VOTE_TYPE = b"application/vnd.hearthbus.vote+json;v=1"


def encoded_vote(body):
    return b"DSSEv1 %d %s %d %s" % (len(VOTE_TYPE), VOTE_TYPE, len(body), body)


def is_small(data):
    """Of small order, or no point: eight times such a point is the identity."""
    place = point(data)
    return place is None or is_same(multiply(8, place), (0, 1, 1, 0))


def is_vote(vote, key, round_):
    body, signature, key = vote["vote"].encode(), bytes.fromhex(vote["signature"]), bytes.fromhex(key)
    said = json.loads(body)
    wanted = {"approval": round_["id"], "call": round_["digest"], "house": round_["house"], "epoch": round_["epoch"]}
    wanted["voter"] = "key_" + key.hex()[:16]
    if canonical(said).encode() != body or any(said.get(name) != value for name, value in wanted.items()):
        return False
    return not is_small(key) and not is_small(signature[:32]) and is_signed(key, encoded_vote(body), signature)


class Voters:
    """Who may vote at an entry: people with a living credential that decides, and nodes that nobody revoked."""

    def __init__(self):
        self.tokens, self.revoked = {}, set()

    def read(self, entry):
        if entry["kind"] == "token.created":
            self.tokens[entry["name"]] = {"role": entry["role"], "until": entry.get("expires_at"), "hash": entry["token_hash"]}
        elif entry["kind"] == "token.revoked":
            self.tokens.pop(entry["name"], None)
        elif entry["kind"] == "community.changed":
            self.revoked.update(entry.get("revoked", []))

    def credential(self, voter):
        return self.tokens.get(voter, {}).get("hash")

    def may(self, voter, at, round_):
        if voter.startswith("node:"):
            return voter[5:] not in self.revoked
        token = self.tokens.get(voter)
        if voter == "owner":
            return True
        # A later credential under the same name is another voter.
        if self.credential(voter) != round_["credentials"].get(voter):
            return False
        return token is not None and token["role"] in ("approver", "admin") and (token["until"] or "9") > at


def round_of(entry, voters):
    terms = entry["quorum"]
    names = ("principal", "tool", "target")
    binding = {name: entry.get(name) for name in names}
    for name, field in (("argsHash", "args_hash"), ("definitionHash", "definition_hash"), ("policyVersion", "policy_version"), ("promiseHash", "promise_hash")):
        binding[name] = entry[field]
    digest = sha256(canonical({"type": "hearthbus/consensus/v1", **binding}).encode()).hex()
    if digest != terms["digest"]:
        found(f"the digest of round {entry['approval']} is not that of its call")
    keys = {each["voter"]: each["key"] for each in terms["voters"]}
    if len(set(keys.values())) != len(terms["voters"]) or not 1 <= terms["need"] <= len(keys) or entry["principal"] in keys:
        found(f"the voters of round {entry['approval']} are not {len(terms['voters'])} different ones")
    credentials = {voter: voters.credential(voter) for voter in keys}
    return {**terms, "id": entry["approval"], "keys": keys, "credentials": credentials, "votes": {}, "double": set(), "used": 0, "quorum": False, "until": entry["expires_at"]}


def yeses(round_, voters, at):
    return [v for name, v in round_["votes"].items() if v["decision"] == "allow" and name not in round_["double"] and voters.may(name, at, round_)]


def check_rounds(entries):
    """Every vote is its voter's, every quorum has enough of them, and every call of a round was made once at most."""
    rounds, voters = {}, Voters()
    for seq, entry in enumerate(entries):
        voters.read(entry)
        round_ = rounds.get(entry.get("approval"))
        kind, at = entry["kind"], entry["at"]
        if kind == "approval.requested" and "quorum" in entry:
            rounds[entry["approval"]] = round_of(entry, voters)
        elif round_ is None:
            continue
        elif kind == "consensus.voted":
            voter = entry["voter"]
            if voter not in round_["keys"] or voter in round_["votes"] or not is_vote(entry, round_["keys"][voter], round_):
                found(f"entry {seq} is not a vote of {voter}")
            elif not voters.may(voter, at, round_) or at >= round_["until"]:
                found(f"{voter} voted in entry {seq} without the right to, or too late")
            else:
                round_["votes"][voter] = {**entry, "decision": json.loads(entry["vote"])["decision"]}
        elif kind == "consensus.equivocated":
            voter = entry["voter"]
            if not all(is_vote(vote, round_["keys"][voter], round_) for vote in entry["votes"]):
                found(f"entry {seq} shows no two votes of {voter}")
            round_["double"].add(voter)
        elif kind in ("approval.approved", "approval.used"):
            counted = yeses(round_, voters, at)
            if len(counted) < round_["need"]:
                found(f"{len(counted)} of {round_['need']} had said yes when entry {seq} ({kind}) was written")
            if kind == "approval.used":
                round_["used"] += 1
            elif entry.get("given_back_by") is not None:
                round_["used"] -= 1
            else:
                parts = sorted(f"{sha256(encoded_vote(v['vote'].encode())).hex()} {v['signature']}" for v in counted)
                if entry.get("certificate") != sha256(canonical(parts).encode()).hex():
                    found(f"the certificate of entry {seq} is not that of its votes")
                round_["quorum"] = True
        if round_ is not None and round_["used"] > 1:
            found(f"the call of round {round_['id']} was made twice")
    quorums = sum(1 for each in rounds.values() if each["quorum"])
    return f"{len(rounds)} rounds: {quorums} quorums, {sum(each['used'] for each in rounds.values())} used once"


# Draws: RFC 9381, ECVRF-EDWARDS25519-SHA512-TAI; who or what is drawn is in docs/protocols/consensus.md.
def sha512(data):
    return hashlib.sha512(data).digest()


def encoded(place):
    inverse = pow(place[2], P - 2, P)
    x, y = place[0] * inverse % P, place[1] * inverse % P
    return (y | ((x & 1) << 255)).to_bytes(32, "little")


def minus(place):
    return (P - place[0], place[1], place[2], P - place[3])


def vrf_output(key, alpha, proof):
    """The 64 bytes that a proof proves, or nothing (RFC 9381, 5.3)."""
    if len(key) != 32 or len(proof) != 80 or is_small(key):
        return None
    y, gamma = point(key), point(proof[:32])
    c, s = int.from_bytes(proof[32:48], "little"), int.from_bytes(proof[48:], "little")
    if gamma is None or s >= Q:
        return None
    for counter in range(256):
        h = point(sha512(b"\x03\x01" + key + alpha + bytes([counter, 0]))[:32])
        if h is not None and not is_same(multiply(8, h), (0, 1, 1, 0)):
            break
    h = multiply(8, h)
    u = add(multiply(s, BASE), multiply(c, minus(y)))
    v = add(multiply(s, h), multiply(c, minus(gamma)))
    points = b"".join(encoded(each) for each in (y, h, gamma, u, v))
    if sha512(b"\x03\x02" + points + b"\x00")[:16] != proof[32:48]:
        return None
    return sha512(b"\x03\x03" + encoded(multiply(8, gamma)) + b"\x00")


def draw_alpha(house, epoch, purpose, number):
    return canonical({"draw": "hearthbus/vrf/v1", "epoch": epoch, "house": house, "number": number, "purpose": purpose}).encode()


def draw_order(beta, members):
    return sorted(set(members), key=lambda member: sha256(beta + member.encode()))


def draw_indices(beta, size, count):
    if size <= count:
        return list(range(size))
    limit, drawn, counter = 2**64 - 2**64 % size, set(), 0
    while len(drawn) < count:
        value = int.from_bytes(sha256(beta + str(counter).encode())[:8], "big")
        counter += 1
        if value < limit:
            drawn.add(value % size)
    return sorted(drawn)


def check_cosignature(entry, roots):
    """The note of a HARD round: by the witness that it names, over a tree that these entries make."""
    name, key_id, key = entry["witness"].split("+", 2)
    key = base64.b64decode(key, validate=True)
    body, _, signatures = entry["note"].rpartition("\n\n")
    _, size, root = body.split("\n")[:3]
    if sha256(name.encode() + b"\n" + key)[:4].hex() != key_id or key[:1] != b"\x04" or int(size) != entry["size"]:
        return False
    if base64.b64decode(root, validate=True) != roots(int(size)):
        return False
    for line in signatures.splitlines():
        _, signer, blob = line.split(" ")
        data = base64.b64decode(blob, validate=True)
        if signer == name and data[:4].hex() == key_id:
            time = int.from_bytes(data[4:12], "big")
            return is_signed(key[1:], f"cosignature/v1\ntime {time}\n{body}\n".encode(), data[12:])
    return False


TURN_S = 3600


def seconds(at):
    return datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()


def check_draws(entries, roots):
    """Every draw holds, the drawn witness made a decision HARD, and the drawn entries were looked at."""
    house = key = None
    rounds, revoked, counts = {}, set(), {"witnesses": 0, "hard": 0, "samples": 0}
    for seq, entry in enumerate(entries):
        kind, round_ = entry["kind"], rounds.get(entry.get("approval"))
        if kind == "node.start" and "vrf_key" in entry:
            if key not in (None, bytes.fromhex(entry["vrf_key"])):
                found(f"entry {seq} names another key for draws")
            house, key = entry["node"], key or bytes.fromhex(entry["vrf_key"])
        elif kind == "community.changed":
            revoked.update(entry.get("revoked", []))
        elif kind == "approval.requested" and "quorum" in entry:
            rounds[entry["approval"]] = {"seq": seq, "epoch": entry["quorum"]["epoch"], "witnesses": entry["quorum"].get("witnesses", [])}
        elif kind == "approval.approved" and round_ is not None:
            round_.setdefault("at", entry["at"])
        elif kind == "consensus.drawn":
            beta = vrf_output(key, draw_alpha(house, round_["epoch"], "witness", round_["seq"]), bytes.fromhex(entry["proof"]))
            round_["order"] = [] if beta is None else draw_order(beta, round_["witnesses"])
            if round_["order"][:1] != [entry["witness"]]:
                found(f"the witness of entry {seq} was not drawn")
            counts["witnesses"] += 1
        elif kind == "consensus.final" and entry["level"] == "HARD" and round_["witnesses"]:
            living = [each for each in round_.get("order", []) if node_of(each) not in revoked]
            turns = 1 + int((seconds(entry["at"]) - seconds(round_["at"])) // TURN_S)
            if entry.get("witness") not in living[:turns] or not check_cosignature(entry, roots):
                found(f"entry {seq} is not cosigned by the witness that was drawn")
            counts["hard"] += 1
        elif kind == "ledger.sampled":
            size = entry["size"]
            beta = vrf_output(key, draw_alpha(house, 0, "sample", size), bytes.fromhex(entry["proof"]))
            if beta is None or beta.hex() != entry["output"] or size > seq or draw_indices(beta, size, 16) != entry["entries"]:
                found(f"entry {seq} looked at other entries than were drawn")
            counts["samples"] += 1
    return f"{counts['witnesses']} witnesses drawn, {counts['hard']} cosigned by them, {counts['samples']} samples drawn"


def node_of(vkey):
    key = base64.b64decode(vkey.split("+", 2)[2])[1:]
    return "ed25519:" + base64.urlsafe_b64encode(key).decode().rstrip("=")


def main():
    parser = argparse.ArgumentParser(description="checks an exported Hearthbus ledger, or an audit packet")
    parser.add_argument("folder", type=pathlib.Path, help="a folder that was exported, or the file of a packet")
    parser.add_argument("--vkey", required=True, help="what `hearthbus ledger key` prints")
    parser.add_argument("--checkpoint", type=pathlib.Path, help="one that was kept elsewhere")
    parser.add_argument("--task", help="recompute the chain of a task's thoughts")
    parser.add_argument("--rounds", action="store_true", help="check every vote and every quorum")
    parser.add_argument("--draws", action="store_true", help="check every draw: witnesses, and entries that were looked at")
    parser.add_argument("--session", help="recompute the root of a finalized session")
    args = parser.parse_args()
    if args.vkey.count("+") < 2:
        parser.error("--vkey is what `hearthbus ledger key` prints: NAME+ID+KEY")
    if args.folder.is_file():
        return audit_packet(args)
    if not args.folder.exists():
        parser.error(f"there is no {args.folder}")
    try:
        size, root = open_checkpoint(read(args.folder, "checkpoint") or b"", args.vkey)
        kept = {}
        if args.checkpoint is not None:
            kept_size, kept_root = open_checkpoint(args.checkpoint.read_bytes(), args.vkey)
            kept[kept_size] = kept_root
            if kept_size > size:
                found(f"there are {size} entries, but {kept_size} were signed")
    except (OSError, ValueError) as error:
        print(f"The checkpoint cannot be trusted: {error}.")
        return 5
    tree, entries = check_entries(args.folder, size, kept)
    if tree.size == size and tree.root() != root:
        found(f"the {size} entries are not the ones that were signed")
    check_tiles(args.folder, tree)
    # Where an entry is missing, what may follow is not known.
    if tree.size == size and all(entry["kind"] for entry in entries):
        check_succession(entries)
    bodies, blank = bodies_of(args.folder, size)
    if bodies is not None:
        check_bodies(entries, bodies, blank)
    said = [f"{tree.size} entries, root {tree.root().hex()}"]
    if bodies is not None:
        said.append(f"{len(bodies)} bodies")
    if args.task is not None:
        said.append(f"{check_thoughts(entries, args.task)} thoughts of task {args.task}")
    if args.rounds:
        said.append(check_rounds(entries))
    if args.draws:
        said.append(check_draws(entries, lambda at: root_of(tree.levels[0][:at])))
    if args.session is not None:
        said.append(f"session root {check_session(entries, args.session)}")
    for sentence in findings:
        print(f"Found: {sentence}.")
    print("; ".join(said) + ("." if not findings else f"; {len(findings)} found wrong."))
    return 5 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
